/* SPDX-License-Identifier: MIT */
/* The environment of a process, which the process may write over, and the text of its cgroups. */
#include "record/names/attributes.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/model/event.h"
#include "tests/fuzz/fuzz.h"

#define BEHIND 64 /* bytes of the count of what was left out */

/* Each line is one attribute. */
static void check_lines(const struct bytes *lines)
{
    struct text left = bytes_text(lines), name, value;
    size_t size = 0;
    while (process_take_attribute(&left, &name, &value)) {
        const struct text clean = utf8_clean(value);
        require(name.size > 0 && value.size > 0 && text_equal(clean, value));
        text_free(clean);
        size += name.size + value.size + 2;
    }
    require(size == lines->size);
}

FUZZ_TARGET(attributes)
{
    char *exact = alloc_copy((const char *)bytes, size);
    struct bytes cgroup = { 0 }, environment = { 0 };
    attributes_put_cgroup(&cgroup, exact);
    check_lines(&cgroup);
    attributes_put_environment(&environment, (struct text){ exact, size });
    check_lines(&environment);
    require(environment.size <= ATTRIBUTES_MOST + BEHIND);
    bytes_free(&cgroup);
    bytes_free(&environment);
    free(exact);
    return 0;
}
