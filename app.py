"""The door for a checkout and a Space: `python app.py --help` explains the flags. What it does is in gptviz/cli.py."""

import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until gptviz.cli decides: no traceback of an import
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        needed = "gptviz needs Python 3.11 to 3.14; this is %d.%d."  # not words: it must work on any Python
        sys.exit(needed % sys.version_info[:2])
    from gptviz.cli import main

    main()
