/* SPDX-License-Identifier: MIT */
/* A mapping of labels that lies. The first byte says with how many rows and texts it begins, the rest are commands of
 * four bytes, { when, where (two bytes), value }: each changes a word of the mapping, before it is found or between two
 * pieces that are read. The mapping is a true one of our own, which /proc/self/maps shows. */
#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "record/labels/publications.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE        ((size_t)16 << 10)
#define THREADS     12 /* that are asked for their labels */
#define ROUNDS      6
#define CALLS_LIMIT 3 /* of one question */
#define NAME_LIMIT  ((size_t)LABELS_TEXT * 4)

struct liar {
    unsigned char *memory;
    const uint8_t *commands;
    size_t count, next;
    uint64_t pieces;
    uint32_t tasks; /* that were told */
};

static void poke(const struct liar *liar, size_t at, uint64_t value)
{
    memcpy(liar->memory + at, &value, sizeof(value));
}

static void obey(const struct liar *liar, const uint8_t *command)
{
    static const uint64_t values[] = { 0,
                                       UINT64_MAX,
                                       1ull << 63,
                                       1ull << 32,
                                       UINT32_MAX,
                                       LABELS_ROWS_MOST,
                                       LABELS_ROWS_MOST + 1,
                                       LABELS_TEXTS_MOST,
                                       LABELS_TEXTS_MOST + 1,
                                       LABELS_TEXT,
                                       LABELS_TEXT + 1,
                                       0xEDFFC0F0A0808080 };
    const size_t word = (command[1] | (size_t)command[2] << 8) % (SIZE / 8);
    const uint8_t value = command[3];
    poke(liar, word * 8, value < countof(values) ? values[value] : (uint64_t)(value - countof(values)));
}

static void lie(void *self, const struct piece *piece, size_t i)
{
    struct liar *liar = self;
    (void)piece;
    (void)i;
    liar->pieces++;
    if (liar->next < liar->count && liar->pieces % 4 == (liar->commands[liar->next * 4] & 3u))
        obey(liar, liar->commands + 4 * liar->next++);
}

/* Each task is told once, in order, with a name that is text. */
static bool hear(void *self, struct event *event, struct fault *why)
{
    struct liar *liar = self;
    (void)why;
    if (event->kind != EVENT_TASK)
        return true;
    const struct text name = event->task.name;
    require(event->task.number == ++liar->tasks && name.size > 0 && name.size <= NAME_LIMIT);
    require(utf8_valid(name.bytes, name.size));
    return true;
}

/* A look: the piece is read, and each thread is asked for its label. */
static void look(struct labels *labels, struct emitter *emitter)
{
    const struct piece piece = labels_plan(labels);
    size_t good = 0;
    require(piece.size <= SIZE && (!piece.size || piece.address >= labels->address));
    if (piece.size)
        labels_take(labels, remote_read_pieces(labels->remote, &piece, 1, &good) == REMOTE_READ && good == 1);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        const uint64_t calls = labels->remote->calls;
        const struct label *label = labels_of(labels, thread, emitter, 1, 1);
        require(!label || (label->serial && label->number && label->name.size > 0));
        require(labels->remote->calls - calls <= CALLS_LIMIT);
    }
}

static void run_liar(struct liar *liar)
{
    struct remote remote = { .pid = getpid(), .memory = -1 };
    struct publications publications = { .labels.remote = &remote };
    struct emitter emitter = { 0 };
    emitter_open(&emitter, (struct sink){ hear, liar });
    for (uint64_t round = 0; round < ROUNDS; round++) {
        publications.due_ns = 0;
        publications_search(&publications, 0, 1);
        look(&publications.labels, &emitter);
        if (round == ROUNDS / 2)
            fake_remote_hide((uint64_t)liar->memory + 64, liar->count % 2 ? 8 : 0);
    }
    labels_restart(&publications.labels);
    look(&publications.labels, &emitter);
    publications_close(&publications);
    emitter_close(&emitter);
}

FUZZ_TARGET(labels)
{
    if (size < 1 || size > 4096)
        return 0;
    const int fd = memfd_create("pyreel-labels-1", MFD_CLOEXEC);
    require(fd >= 0 && ftruncate(fd, SIZE) == 0);
    struct liar liar = { .commands = bytes + 1, .count = (size - 1) / 4 };
    liar.memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    require(liar.memory != MAP_FAILED);
    memcpy(liar.memory, "PYRLABL1", 8);
    poke(&liar, 8, 1 + bytes[0] % 32);
    poke(&liar, 16, 1 + bytes[0] / 32 * 4);
    for (; liar.next < liar.count && liar.commands[liar.next * 4] & 128; liar.next++)
        obey(&liar, liar.commands + 4 * liar.next);
    fake_remote_reset();
    fake_remote_map((uint64_t)liar.memory, liar.memory, SIZE);
    fake_remote_hook(lie, &liar);
    run_liar(&liar);
    fake_remote_reset();
    munmap(liar.memory, SIZE);
    return 0;
}
