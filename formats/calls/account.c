/* SPDX-License-Identifier: MIT */
#include "formats/calls/account.h"

#include "formats/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN_LEAST_NS 500000u /* 0.001 s when it is rounded */

void accounts_add(struct accounts *accounts, const struct tables *tables, uint32_t thread, uint32_t stack,
                  uint64_t cpu_ns)
{
    const uint32_t process = tables->threads[thread].thread.process;
    accounts->rows = alloc_grow(accounts->rows, &accounts->room, (size_t)process + 1, sizeof(*accounts->rows));
    struct account *account = &accounts->rows[process];
    if (tables_not_sampled(tables, stack))
        account->not_sampled_ns += cpu_ns;
    else if (tables_is_native(tables, stack))
        account->native_ns += cpu_ns;
    else
        account->placed_ns += cpu_ns;
}

/* Adds what no stack has to what is not sampled. */
static void balance(struct account *account)
{
    const uint64_t given_ns = account->placed_ns + account->native_ns + account->not_sampled_ns;
    if (!account->known)
        account->cpu_ns = given_ns;
    else if (account->cpu_ns > given_ns)
        account->not_sampled_ns += account->cpu_ns - given_ns;
}

static void account_add_process(struct account *all, const struct account *one)
{
    all->known |= one->known;
    all->cpu_ns += one->cpu_ns;
    all->placed_ns += one->placed_ns;
    all->native_ns += one->native_ns;
    all->not_sampled_ns += one->not_sampled_ns;
    all->others_ns += one->others_ns;
}

struct account accounts_of(const struct accounts *accounts, const struct tables *tables, uint32_t process)
{
    struct account account = { 0 };
    for (uint32_t i = 1; process == 0 && i < tables->processes_count; i++) {
        const struct account one = accounts_of(accounts, tables, i);
        account_add_process(&account, &one);
    }
    if (process == 0)
        return account;
    if (process < accounts->room)
        account = accounts->rows[process];
    const uint64_t cpu_ns = tables_measured_cpu_ns(tables, process);
    account.known = cpu_ns != MEASURE_UNKNOWN;
    account.cpu_ns = account.known ? cpu_ns : 0;
    balance(&account);
    if (process < tables->processes_count && process_is_others(&tables->processes[process].process))
        account.others_ns = account.not_sampled_ns;
    return account;
}

struct account account_of_aggregate(const struct aggregate *aggregate, const struct tables *tables)
{
    struct accounts accounts = { 0 };
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        accounts_add(&accounts, tables, row->thread, row->stack, row->sums[SUM_CPU_NS]);
    }
    const struct account account = accounts_of(&accounts, tables, 0);
    accounts_free(&accounts);
    return account;
}

double account_share(const struct account *account)
{
    const double whole_ns = (double)(account->placed_ns + account->native_ns + account->not_sampled_ns -
                                     account->others_ns);
    return account->known && whole_ns > 0 ? (double)(account->placed_ns + account->native_ns) / whole_ns : -1;
}

void account_parts(const struct account *account, struct account_part parts[ACCOUNT_PARTS])
{
    parts[0] = (struct account_part){ "cpu_s", account->cpu_ns };
    parts[1] = (struct account_part){ "cpu_placed_s", account->placed_ns };
    parts[2] = (struct account_part){ "cpu_native_s", account->native_ns };
    parts[3] = (struct account_part){ "cpu_not_sampled_s", account->not_sampled_ns };
    parts[4] = (struct account_part){ "cpu_others_s", account->others_ns };
}

const char *account_text(char *room, const struct account *account)
{
    size_t size = (size_t)snprintf(room, ACCOUNT_ROOM, "%.3f s placed", (double)account->placed_ns / 1e9);
    if (account->native_ns >= SHOWN_LEAST_NS)
        size += (size_t)snprintf(room + size, ACCOUNT_ROOM - size, ", %.3f s of native threads",
                                 (double)account->native_ns / 1e9);
    const uint64_t unseen_ns = account->not_sampled_ns - account->others_ns;
    if (unseen_ns >= SHOWN_LEAST_NS)
        size += (size_t)snprintf(room + size, ACCOUNT_ROOM - size, ", %.3f s not sampled", (double)unseen_ns / 1e9);
    if (account->others_ns >= SHOWN_LEAST_NS)
        snprintf(room + size, ACCOUNT_ROOM - size, ", %.3f s of other processes", (double)account->others_ns / 1e9);
    return room;
}

void accounts_free(struct accounts *accounts)
{
    free(accounts->rows);
    *accounts = (struct accounts){ 0 };
}
