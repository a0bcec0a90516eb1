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

/* ---- copies and parts ---- */

/* Whether the text at a dot is the mark of a copy or a part: ".isra.0". Methods may have such names, without a number:
 * Archive.part. */
static bool is_clone_mark(struct text rest)
{
    static const struct text marks[] = { { ".isra.", 6 },      { ".constprop.", 11 }, { ".part.", 6 },
                                         { ".lto_priv.", 10 }, { ".localalias", 11 }, { ".llvm.", 6 } };
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        const struct text mark = marks[i];
        const bool last = rest.size == mark.size, numbered = mark.bytes[mark.size - 1] == '.';
        if (text_begins(rest, mark) && (numbered ? !last && rest.bytes[mark.size] >= '0' && rest.bytes[mark.size] <= '9'
                                                 : last || rest.bytes[mark.size] == '.'))
            return true;
    }
    return false;
}

/* The name of the function of which a copy or a part has this name. */
static struct text without_marks(struct text name)
{
    for (size_t i = 1; i < name.size; i++)
        if (name.bytes[i] == '.' && is_clone_mark((struct text){ name.bytes + i, name.size - i }))
            return (struct text){ name.bytes, i };
    return name;
}

/* ---- C++ and Rust ---- */

/* Appends what a linker's name of C++ or Rust stands for. */
static bool put_demangled(struct text name, struct bytes *into)
{
    char mangled[DEMANGLE_MOST + 1];
    struct demangling demangling = { .into = into, .before = into->size };
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

bool demangle(struct text name, struct bytes *into)
{
    const struct text bare = without_marks(name);
    if (bare.size > DEMANGLE_MOST)
        return false;
    if ((text_begins(bare, TEXT("_Z")) || text_begins(bare, TEXT("_R"))) && put_demangled(bare, into))
        return true;
    if (bare.size < name.size)
        put_bytes(into, bare.bytes, bare.size);
    return bare.size < name.size;
}
