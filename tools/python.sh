#!/bin/sh
# Prints the path of a Python that can make the .venv: 3.11 to 3.14 (torch has wheels for these) with its venv
# module. PYTHON, if set, is the only one tried. Says one sentence and fails if there is none.
suits='import sys; print(sys.executable); sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'
if [ -n "${PYTHON:-}" ]; then
    set -- "$PYTHON"
else
    set -- python3 python3.13 python3.12 python3.11 python3.14 python
fi
bare=""
for name in "$@"; do
    path=$("$name" -c "$suits" 2>/dev/null) || continue
    if "$path" -c 'import ensurepip, venv' 2>/dev/null; then
        printf '%s\n' "$path"
        exit 0
    fi
    bare=$path
done
if [ -n "$bare" ]; then
    echo "$bare lacks its venv module: on Debian and Ubuntu, 'apt-get install python3-venv' brings it." >&2
elif [ -n "${PYTHON:-}" ]; then
    echo "PYTHON=$PYTHON does not run or is not Python 3.11 to 3.14." >&2
else
    echo "No Python 3.11 to 3.14 found: install one, or name one, as in 'make run PYTHON=/opt/python3.12/bin/python3'." >&2
fi
exit 1
