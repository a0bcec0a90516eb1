# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the scripts of this folder share: root folders of Debian, in which packages are built and tried, so that the machine
# stays as it is. Sourced, never run; the current folder is that of the project.

# shellcheck source=tests/tools/common.sh
source tests/tools/common.sh

# shellcheck disable=SC2034  # some are used by those who source this
{
    roots=$cache/packaging
    out="build-packages"
    version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build)
    build_packages=(meson ninja-build pkgconf protobuf-c-compiler python3)
    libraries=(libprotobuf-c-dev zlib1g-dev libzstd-dev libjansson-dev libelf-dev libdw-dev libiberty-dev liblzma-dev libseccomp-dev libncurses-dev)
}
mkdir -p "$out" "$roots"

# need COMMAND [PACKAGE]: the package has the name of the command, if no name is given.
need() {
    command -v "$1" >/dev/null || die "$1 was not found: apt-get install ${2:-$1}"
}

# make_root NAME VARIANT SUITE ARCHITECTURE PACKAGE...: makes a root folder once. The name of a root says that it is whole. VARIANT
# "extract" has the packages and what they depend on, unpacked and no more; "minbase" is a system. A mirror may be a copy from
# another day, whose signatures are good but old, so apt does not check the dates.
make_root() {
    local name=$1 variant=$2 suite=$3 architecture=$4 root=$roots/$1 half=$roots/$1.half made_of=${*:2} mirror include
    shift 4
    [[ $(cat "$root/.pyreel-complete" 2>/dev/null) != "$made_of" ]] || return 0
    heading "Making $root: Debian $suite, ${*:-nothing but the system}"
    mirror=$(debian_mirror)
    include=$(IFS=,; echo "$*")
    as_root rm -rf --one-file-system "$half" "$root"
    quietly "$out/$name.log" as_root mmdebstrap --variant="$variant" --aptopt='Acquire::Check-Valid-Until "false"' \
        --architectures="$architecture" ${include:+--include="$include"} \
        "$suite" "$half" "$mirror" || die "cannot make a root folder of Debian $suite"
    echo "$made_of" | as_root tee "$half/.pyreel-complete" >/dev/null
    as_root mv -T "$half" "$root"
}

# copy_root NAME COPY: a copy that is used once.
copy_root() {
    as_root rm -rf --one-file-system "$roots/$2"
    as_root cp -a --reflink=auto "$roots/$1" "$roots/$2"
}

# with_root NAME COMMAND...: what is mounted in the root folder, and what is started, ends with the command.
with_root() {
    local root=$roots/$1
    shift
    # shellcheck disable=SC2016  # the inner shell's own
    as_root unshare --mount-proc --pid --fork --kill-child sh -ec '
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/tmp"
        mount -t devpts devpts "$0/dev/pts"
        exec "$@"
        ' "$root" "$@"
}

# in_root NAME COMMAND...
in_root() {
    local name=$1
    shift
    with_root "$name" chroot "$roots/$name" \
        env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

# put_tree NAME: the project as it is committed, in /src/pyreel.
put_tree() {
    local root=$roots/$1
    as_root rm -rf "$root/src"
    as_root mkdir -p "$root/src/pyreel"
    git archive HEAD | as_root tar -x -C "$root/src/pyreel"
}

# Not every machine has descriptions of terminals. These are of Debian's package ncurses-base.
terminals="l/linux r/rxvt s/screen s/screen-256color t/tmux t/tmux-256color v/vt100 x/xterm x/xterm-256color"

# build_static PROCESSOR NAME: installs static programs into the folder /src/NAME of the root folder build-static, with what lies
# beside them, descriptions of terminals and licences. PROCESSOR is x86_64 or aarch64, for which there is a cross compiler.
# Two runs from the same commit make the same bytes. bookworm: in the static libelf of Debian 13, functions are missing.
build_static() {
    local processor=$1 name=$2 epoch cross=''
    make_root build-static minbase bookworm amd64 gcc libc6-dev gcc-aarch64-linux-gnu qemu-user xz-utils "${build_packages[@]}" "${libraries[@]}"
    put_tree build-static
    if [[ $processor == aarch64 ]]; then
        make_root static-aarch64 extract bookworm arm64 libc6-dev "${libraries[@]}"
        as_root mkdir "$roots/build-static/src/aarch64"
        as_root cp -a "$roots/static-aarch64"/{lib*,usr} "$roots/build-static/src/aarch64/"
        sed "s|@ROOT@|/src/aarch64|g" packaging/aarch64.ini | as_root tee "$roots/build-static/src/aarch64.ini" >/dev/null
        cross=--cross-file=/src/aarch64.ini
    fi
    heading "Building static programs for $processor"
    epoch=$(git log -1 --format=%ct)
    quietly "$out/build-$processor.log" in_root build-static sh -ec "
        cd /src/pyreel
        export SOURCE_DATE_EPOCH=$epoch
        meson setup build --buildtype=release --prefix=/ -Dstatic=true -Dtests=disabled -Dtop=enabled --strip $cross
        meson compile -C build
        meson install -C build --destdir '/src/$name'
        mkdir '/src/$name/share/terminfo'
        cd /lib/terminfo
        cp -L --parents $terminals '/src/$name/share/terminfo/'
        mkdir '/src/$name/licences'
        for package in libc6-dev libelf-dev libiberty-dev liblzma-dev libjansson-dev libncurses-dev libprotobuf-c-dev libseccomp-dev libzstd-dev zlib1g-dev; do
            cp -L /usr/share/doc/\$package/copyright '/src/$name/licences/'\${package%-dev}
        done
        cp /usr/share/common-licenses/LGPL-2.1 /usr/share/common-licenses/LGPL-3 /usr/share/common-licenses/GPL-3 '/src/$name/licences/'" ||
        die "cannot build static programs"
}
