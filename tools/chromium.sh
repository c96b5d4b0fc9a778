#!/bin/sh
# Prints the path of the browser for the tests: CHROMIUM if set, else an installed Chromium or Chrome, else one that
# the system's package manager installs. Says one sentence and fails if there is none.
find_browser() {
    if [ -n "${CHROMIUM:-}" ]; then
        command -v "$CHROMIUM"
        return
    fi
    for name in chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
        "/Applications/Chromium.app/Contents/MacOS/Chromium"; do
        command -v "$name" && return
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if ! find_browser >/dev/null && [ -n "${CHROMIUM:-}" ]; then
    echo "CHROMIUM=$CHROMIUM is not a program that can be run." >&2
    exit 1
fi

# Only the path may reach stdout.
if command -v apt-get >/dev/null; then
    set --
    find_browser >/dev/null || set -- chromium
    # Playwright's own driver needs it, and a small Debian lacks it.
    /sbin/ldconfig -p | grep -q 'libatomic\.so\.1' || set -- "$@" libatomic1
    if [ $# -gt 0 ]; then
        { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y "$@"; } >&2
    fi
elif ! find_browser >/dev/null && command -v brew >/dev/null; then
    brew install --cask google-chrome >&2
fi

find_browser && exit
echo "No Chromium or Chrome found: install one, or name one, as in 'make test CHROMIUM=/path/to/chrome'." >&2
exit 1
