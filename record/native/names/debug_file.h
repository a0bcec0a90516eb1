/* SPDX-License-Identifier: MIT */
/* The files in which distributions keep the names of functions that they strip from programs and libraries:
 *
 *     /usr/lib/debug/.build-id/c5/61f3....debug     by the build id: Debian's -dbg and -dbgsym packages, Fedora's
 * debuginfo DIR/NAME, DIR/.debug/NAME, /usr/lib/debug/DIR/NAME     as the section .gnu_debuglink of DIR/libx.so says
 *
 * They are looked for below the root folder of the process, then below the own one. A file counts only if it has the
 * build id of the module: a module without one has no such file. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_DEBUG_FILE_H
#define PYREEL_RECORD_NATIVE_NAMES_DEBUG_FILE_H

#include <sys/types.h>

/* Opens the file with the symbols of a module of a process: `path` is its path there, `file` its open file, `build_id`
 * its build id in hexadecimal digits. Returns -1 when there is none. */
int debug_file_open(pid_t pid, const char *path, int file, const char *build_id);

#endif
