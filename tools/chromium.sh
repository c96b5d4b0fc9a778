#!/bin/sh
# Prints the path of the browser for the tests: CHROMIUM if set, else an installed Chromium or Chrome, else one
# installed by the system's package manager. Says one sentence and fails if there is none.
if [ -n "${CHROMIUM:-}" ]; then
    command -v "$CHROMIUM" && exit 0
    echo "CHROMIUM=$CHROMIUM is not a program that can be run." >&2
    exit 1
fi

find_browser() {
    for name in chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
        "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
        command -v "$name" && return 0
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

find_browser && exit 0
# Only the path may reach stdout.
if command -v apt-get >/dev/null; then
    { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; } >&2
elif command -v brew >/dev/null; then
    brew install --cask google-chrome >&2
fi
find_browser && exit 0
echo "No Chromium or Chrome found: install one, or name one, as in 'make test CHROMIUM=/path/to/chrome'." >&2
exit 1
