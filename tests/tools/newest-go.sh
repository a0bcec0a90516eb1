# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The newest Go, from Debian unstable, for the scripts that build with it; they source common.sh before. Nothing is installed: the
# packages are unpacked in $work, a folder of the script.
# shellcheck disable=SC2154  # $work and $cache are theirs

# fetch_go NAME: unpacks it in $work/go; its logs are $cache/NAME-*.log. Debian's golang-go depends on the newest Go alone, and
# needs nothing to be unpacked.
fetch_go() {
    local mirror trust=signed-by=/usr/share/keyrings/debian-archive-keyring.gpg package
    mirror=$(debian_mirror)
    if [[ -n ${PYREEL_TEST_UNVERIFIED:-} ]]; then
        warn "PYREEL_TEST_UNVERIFIED is set: the signatures of Debian unstable are NOT checked"
        trust=trusted=yes
    fi
    mkdir -p "$work"/{lists,archives}/partial "$work/go"
    echo "deb [$trust] $mirror unstable main" >"$work/sources.list"
    touch "$work/status"
    quietly "$cache/$1-update.log" own_apt update || die "cannot read the package lists of Debian unstable"
    quietly "$cache/$1-fetch.log" own_apt install -y --download-only --no-install-recommends golang-go ||
        die "cannot fetch the Go of Debian unstable"
    for package in "$work"/archives/*.deb; do
        dpkg-deb --extract "$package" "$work/go"
    done
}

# apt-get with Debian unstable as its only source, for a machine on which nothing is installed.
own_apt() {
    local options=(Dir::State::lists="$work/lists" Dir::State::status="$work/status" Dir::Cache="$work"
        Dir::Etc::sourcelist="$work/sources.list" Dir::Etc::sourceparts=/dev/null
        Acquire::Languages=none APT::Sandbox::User="$(id -un)" Debug::NoLocking=1)
    apt-get "${options[@]/#/-o}" "$@"
}
