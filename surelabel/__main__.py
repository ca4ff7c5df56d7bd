"""The command ``surelabel``, also as ``python -m surelabel``."""

import os
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
            if sys.stderr is None:  # closed by the caller
                sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            if sys.stdout is None:
                sys.exit("error: standard output is closed; open it, or send it to a file")
            try:
                from .cli import app
            except ModuleNotFoundError as error:  # an extra that is not installed
                sys.exit(f"error: {error}")
            app(prog_name="surelabel")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 2
            if isinstance(end.code, str):
                sys.stderr.write(f"{end.code}\n")
        code = interrupts.finish(code)
    except BaseException:
        if interrupts.stopped is None:
            raise
        code = interrupts.finish(128 + interrupts.stopped)
    sys.exit(code)


if __name__ == "__main__":
    main()
