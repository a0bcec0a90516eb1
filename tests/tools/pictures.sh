# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Pictures of pages for documents: a headless Chromium takes them. Sourced, behind common.sh, never run.

# shellcheck disable=SC2154  # `project` and `cache` are those of who sources this
build=$(realpath -m -- "${PYREEL_BUILD:-$project/build}")

# check_needs PROGRAM...: the programs that record and make the pages, and a browser; `chromium` is its name afterwards.
check_needs() {
    local program
    for program in "$@"; do
        [[ -x $build/$program ]] || die "no $build/$program: build pyreel, or name the build folder with PYREEL_BUILD"
    done
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        die "no Chromium: apt-get install chromium"
}

# take_picture PAGE WIDTH HEIGHT FILE: PAGE may end in #FRAGMENT, the view that the page shows. WIDTH and HEIGHT are
# pixels of the page; the picture has 1.5 times as many.
take_picture() {
    local page=$1 width=$2 height=$3 picture=$4 browser
    local options=(--headless=new --hide-scrollbars --disable-gpu --force-device-scale-factor=1.5 --virtual-time-budget=10000)
    browser=$(mktemp -d)
    ((EUID)) || options+=(--no-sandbox) # Chromium's sandbox refuses root
    rm -f -- "$picture"
    quietly "$cache/pictures.log" timeout 300 "$chromium" "${options[@]}" --user-data-dir="$browser" "--window-size=$width,$height" \
        --screenshot="$picture" "file://$page" || die "Chromium took no picture of $page"
    rm -rf -- "$browser"
    [[ -s $picture ]] || die "Chromium took no picture of $page"
}

# The page is nearly white, and the file small, when the page does not show the profile: check_picture FILE LEAST MOST.
check_picture() {
    local bytes
    bytes=$(stat -c %s -- "$1")
    ((bytes >= $2)) || die "$1 has $bytes bytes: the page did not show what it should"
    ((bytes <= $3)) || die "$1 has $bytes bytes, more than $3"
}

# shrink_picture FILE: fewer colours, so that a page with several pictures loads fast.
shrink_picture() {
    command -v pngquant >/dev/null || die "no pngquant: apt-get install pngquant"
    pngquant --force --skip-if-larger --speed 1 --nofs --output "$1" 24 -- "$1" || [[ $? == 98 ]] || die "cannot reduce the colours of $1"
}
