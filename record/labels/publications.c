/* SPDX-License-Identifier: MIT */
#include "record/labels/publications.h"

#include "record/process/clock.h"
#include "record/process/procfs.h"

#define SEARCH_REST   64 /* a search is followed by so much more rest */
#define SPAN_VARIABLE "otel_thread_ctx_v1"

enum { MAPPED_LABELS, MAPPED_CONTEXT, MAPPED = MAPPED_CONTEXT + PROCESS_CONTEXT_NAMES };

static const char *const mapped_names[MAPPED] = { LABELS_MAPPED, PROCESS_CONTEXT_MAPPED };

/* Whether something is not known that a search could find. */
static bool lacks_something(const struct publications *p)
{
    return !p->labels.address || !p->context.address || (p->context.threads && !p->spans.known);
}

/* Takes what is there and not known. Returns what was taken, and sets *unready if something is there that could not be
 * taken. */
static unsigned take_mappings(struct publications *p, const struct mapping found[MAPPED], bool *unready)
{
    unsigned new = 0;
    if (!p->labels.address && found[MAPPED_LABELS].high) {
        const bool taken = labels_open(&p->labels, &found[MAPPED_LABELS]);
        new |= taken ? PUBLISHED_LABELS : 0;
        *unready |= !taken;
    }
    for (size_t i = MAPPED_CONTEXT; i < MAPPED && !p->context.address; i++) {
        if (!found[i].high)
            continue;
        const bool taken = process_context_open(&p->context, p->labels.remote, &found[i]);
        new |= taken ? PUBLISHED_CONTEXT : 0;
        *unready |= !taken;
    }
    return new;
}

unsigned publications_search(struct publications *p, uint64_t pages, uint64_t now_ns)
{
    struct mapping found[MAPPED];
    if (p->labels.gone)
        labels_close(&p->labels);
    const unsigned changed = process_context_look(&p->context, p->labels.remote) ? PUBLISHED_CONTEXT : 0;
    if (!lacks_something(p) || p->labels.remote->kind || now_ns < p->due_ns || (pages && pages == p->pages))
        return changed;
    bool unready = false;
    procfs_private_mappings(p->labels.remote->pid, mapped_names, found, MAPPED);
    unsigned new = take_mappings(p, found, &unready);
    if (p->context.threads && !p->spans.known && thread_variable_find(p->labels.remote, SPAN_VARIABLE, &p->spans))
        new |= PUBLISHED_SPANS;
    p->pages = unready ? 0 : pages; /* a mapping that is not ready yet does not grow */
    p->due_ns = now_ns + SEARCH_REST * (clock_now_ns() - now_ns);
    return changed | new;
}

void publications_close(struct publications *p)
{
    struct remote *remote = p->labels.remote;
    labels_close(&p->labels);
    process_context_close(&p->context);
    *p = (struct publications){ .labels.remote = remote };
}
