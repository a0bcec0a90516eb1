/* SPDX-License-Identifier: MIT */
/* What the kernel tells of processes, as text that a process has a part in: one byte that chooses the text, and the
 * text. */
#include "record/tree/connector.h"
#include "record/tree/facts.h"
#include "record/tree/pid_cursor.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void judge_facts(const char *text, size_t size)
{
    struct facts facts, again;
    const bool good = facts_parse(text, size, &facts);
    if (good != facts_parse(text, size, &again) || facts.program != again.program || facts.start != again.start)
        abort();
    if (facts.wait_status < -1 || facts.wait_status > 0xFFFF || facts.parent < 0)
        abort();
}

static void judge_event(const char *text, size_t size)
{
    struct connector_event event = { .change = CONNECTOR_FORK };
    if (connector_parse(text, size, &event) && event.change > CONNECTOR_EXIT)
        abort();
}

FUZZ_TARGET(tree)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)bytes + 1;
    switch (bytes[0] % 4) {
    case 0:
        judge_facts(text, size - 1);
        break;
    case 1:
        if (facts_parse_process(text, size - 1) < 0)
            abort();
        break;
    case 2:
        if (pid_cursor_parse(text, size - 1) < 0)
            abort();
        break;
    case 3:
        judge_event(text, size - 1);
    }
    return 0;
}
