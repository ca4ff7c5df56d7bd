"""The command ``surelabel``, also as ``python -m surelabel``."""

import sys

try:
    from . import interrupts
except KeyboardInterrupt:
    sys.stderr.write("stopped; no file is half-written\n")
    sys.exit(130)


def main() -> None:
    """Run the command line; signals are handled before anything that takes time is imported."""
    code = 0
    try:
        try:
            interrupts.install()
            from .cli import app

            app(prog_name="surelabel")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        code = interrupts.finish(code)
    except BaseException:
        if interrupts.stopped is None:
            raise
        code = interrupts.finish(128 + interrupts.stopped)
    sys.exit(code)


if __name__ == "__main__":
    main()
