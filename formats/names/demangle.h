/* SPDX-License-Identifier: MIT */
/* Names of functions as their sources have them. A compiler makes other names for the linker, of C++ and Rust, and of
 * the copies and parts that it makes of functions:
 *
 *     _ZN5Eigen8internal4gemmEv                         Eigen::internal::gemm
 *     _RNvNtCs1234_4core3fmt5write                      core::fmt::write
 *     _ZN4core3fmt5write17h0123456789abcdefE            core::fmt::write
 *     save.constprop.0, x_add.lto_priv.0.isra.0         save, x_add */
#ifndef PYREEL_FORMATS_NAMES_DEMANGLE_H
#define PYREEL_FORMATS_NAMES_DEMANGLE_H

#include "formats/base/bytes.h"

#define DEMANGLE_MOST 4096 /* bytes of a linker's name, and of what it becomes; larger ones stay as they are */

/* Appends what the source calls the function with this name, without its parameters. False: that is the name itself, or
 * it is too large; nothing is appended. The name is not trusted. */
bool demangle(struct text name, struct bytes *into);

#endif
