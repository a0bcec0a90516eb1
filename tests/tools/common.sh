# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the project's scripts share: how they speak, and where they keep what is made once. Sourced, never run.

# shellcheck disable=SC2034  # used by those who source this
cache=${PYREEL_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pyreel}

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
    bold=$'\e[1m' plain=$'\e[0m'
else
    bold='' plain=''
fi

heading() { printf '%s==> %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '    %s\n' "$*"; }
warn() { printf '%s: %s\n' "$0" "$*" >&2; }

die() {
    warn "$@"
    exit 1
}

# make_or_do_without WHAT: runs `main`. Without what it makes, tests are left out and say so; with CI=true that is an error.
make_or_do_without() {
    local status
    set +e # and not `main ||`, in which bash would go on after an error
    (set -e && main)
    status=$?
    set -e
    ((status == 0)) || [[ ${CI-} != true ]] || exit "$status"
    ((status == 0)) || warn "WARNING: tests that need $1 are LEFT OUT"
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        warn "'$*' needs root: run it as root, or install sudo"
        return 1
    fi
}

# quietly LOG COMMAND...: keeps what the command prints in LOG and shows the end of it only when the command fails.
quietly() {
    local log=$1 command=${*:2} status=0
    shift
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if ((status)); then
        tail -n 25 "$log" | sed 's/^/    | /' >&2
        warn "'${command#as_root }' failed; its output is in $log"
    fi
    return "$status"
}

# One at a time: two runs that make the same thing would tread on each other.
lock_cache() {
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock 9
}

# Where apt takes Debian itself from, as opposed to security updates, backports, and other people's packages.
debian_mirror() {
    local mirror=${PYREEL_DEBIAN_MIRROR:-$(configured_mirror)}
    if [[ -z $mirror ]]; then
        # Before its first update apt does not know what its sources are.
        quietly "$cache/apt-update.log" as_root apt-get update || true
        mirror=$(configured_mirror)
    fi
    [[ -n $mirror ]] || die "apt is not configured with a Debian mirror; name one in PYREEL_DEBIAN_MIRROR"
    echo "$mirror"
}

configured_mirror() {
    # shellcheck disable=SC2016  # these are apt's own variables
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F '|' '$1 == "Debian" && $2 == "Debian" && $3 == "main" && $4 ~ /^(https?|file):/ { print $4; exit }'
}

# pytest_with BUILD [ARG...]: with the programs of that build. The system's Python is the one that apt gave pytest. What the
# tests and their programs, as browsers, leave in the temporary folder goes with it.
pytest_with() (
    build=$1 python=python3
    shift
    ! /usr/bin/python3 -c 'import pytest' 2>/dev/null || python=/usr/bin/python3
    folder=$(mktemp -d "${TMPDIR:-/tmp}/pyreel-tests-XXXXXX") || exit
    trap 'rm -rf --one-file-system -- "$folder"' EXIT
    env TMPDIR="$folder" PYREEL_BUILD="$build" PYREEL_TEST_CACHE="$cache" PYTHONDONTWRITEBYTECODE=1 \
        "$python" -m pytest -p no:cacheprovider --basetemp="$folder/t" "$@"
)
