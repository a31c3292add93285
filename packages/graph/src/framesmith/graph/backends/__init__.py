"""The compilers that a graph is given to, and what AOTAutograd, under most of them, would compute otherwise than eager."""
