/* SPDX-License-Identifier: MIT */
/* The account of CPU time: of what the kernel counted of a process, how much went to which kind of stack.
 *
 *     cpu = placed + native + not sampled
 *
 *     cpu          by the process's own clock, threads included that ended and that Python does not know
 *     placed       at looks of Python's threads
 *     native       at threads that Python does not know: their only frame is native
 *     not sampled  at <not sampled>, or nowhere; the others are the part of it that no recorded process has
 */
#ifndef PYREEL_FORMATS_CALLS_ACCOUNT_H
#define PYREEL_FORMATS_CALLS_ACCOUNT_H

#include "formats/model/aggregate.h"

/* In nanoseconds. */
struct account {
    bool known; /* the recording has measures of the processes; if not, cpu_ns is the sum of the others */
    uint64_t cpu_ns, placed_ns, native_ns, not_sampled_ns;
    uint64_t others_ns; /* of not_sampled_ns: the entry OTHER_PROCESSES */
};

/* By process. `= {0}` is empty. */
struct accounts {
    struct account *rows; /* the times of stacks so far */
    size_t room;
};

/* Adds CPU time of a stack of a thread. */
void accounts_add(struct accounts *accounts, const struct tables *tables, uint32_t thread, uint32_t stack,
                  uint64_t cpu_ns);

/* The account of a process; 0: of all processes. */
struct account accounts_of(const struct accounts *accounts, const struct tables *tables, uint32_t process);

/* The account of all processes, with the times of the rows of an aggregate. */
struct account account_of_aggregate(const struct aggregate *aggregate, const struct tables *tables);

/* The share of the CPU time of recorded processes that went to looks and to native threads, from 0 to 1; -1: not known,
 * or there was none. */
double account_share(const struct account *account);

/* The times of an account, with the keys that JSON has. */
#define ACCOUNT_PARTS 5
struct account_part {
    const char *key;
    uint64_t ns;
};

/* Fills in the times of an account. */
void account_parts(const struct account *account, struct account_part parts[ACCOUNT_PARTS]);

#define ACCOUNT_ROOM 160

/* Writes the account in words into `room`, which has ACCOUNT_ROOM bytes: "1.100 s placed, 0.100 s of native threads,
 * 0.034 s not sampled, 0.500 s of other processes". Parts behind the first that are 0 are left out. Returns `room`. */
const char *account_text(char *room, const struct account *account);

void accounts_free(struct accounts *accounts);

#endif
