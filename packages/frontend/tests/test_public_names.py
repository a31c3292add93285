"""What a look at `frontend` shows: its public names."""

from framesmith import frontend


def test_the_modules_of_the_package_are_not_shown() -> None:
    shown = {name for name in dir(frontend) if not name.startswith("_")}
    assert shown == {*frontend.__all__} and "near_misses" not in shown
    assert {"__doc__", "__file__", "__name__"} <= {*dir(frontend)}
