/* SPDX-License-Identifier: MIT */
#include "formats/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

/* A hostile name of some bytes can become a text of gigabytes, so the library is left when the text is too large. It
 * has nothing allocated while it calls back, but for some Rust names that are not ASCII, of which it then leaks a part.
 */
struct demangling {
    struct bytes *into;
    size_t before; /* bytes in `into` at first */
    jmp_buf too_large;
};

static void demangle_append(const char *part, size_t size, void *self)
{
    struct demangling *demangling = self;
    if (size > DEMANGLE_MOST - (demangling->into->size - demangling->before))
        longjmp(demangling->too_large, 1);
    put_bytes(demangling->into, part, size);
}

bool demangle(struct text name, struct bytes *into)
{
    char mangled[DEMANGLE_MOST + 1];
    struct demangling demangling = { .into = into, .before = into->size };
    if (name.size < 3 || name.size > DEMANGLE_MOST || name.bytes[0] != '_' ||
        (name.bytes[1] != 'Z' && name.bytes[1] != 'R'))
        return false;
    memcpy(mangled, name.bytes, name.size);
    mangled[name.size] = '\0';
    const bool good = setjmp(demangling.too_large) == 0 &&
                      (rust_demangle_callback(mangled, DMGL_NO_OPTS, demangle_append, &demangling) ||
                       cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, demangle_append, &demangling)) &&
                      into->size > demangling.before;
    if (!good)
        into->size = demangling.before;
    return good;
}
