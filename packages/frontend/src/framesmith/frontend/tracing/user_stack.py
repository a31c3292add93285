"""The user's frames while tracing, as text: for nodes, breaks and errors."""

import linecache

from framesmith.frontend.tracing.machine import Frame


def location(frame: Frame) -> tuple[str, int, str]:
    """File, line and function of the operation that a frame is at."""
    position = frame.operation.position
    line = frame.code.co_firstlineno if position.line is None else position.line
    return frame.code.co_filename, line, frame.code.co_name


def stack_text(frames: list[Frame]) -> str:
    """The frames as a traceback shows them, the outermost first."""
    lines: list[str] = []
    for frame in frames:
        file, line, function = location(frame)
        lines.append(f'  File "{file}", line {line}, in {function}\n')
        source = linecache.getline(file, line).strip()
        if source:
            lines.append(f"    {source}\n")
    return "".join(lines)
