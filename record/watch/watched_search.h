/* SPDX-License-Identifier: MIT */
/* From the number of a process to its CPython: watched->search. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_SEARCH_H
#define PYREEL_RECORD_WATCH_WATCHED_SEARCH_H

#include "record/watch/watched.h"

/* Starts the search for a Python in the process. Call this again when the process is known to have called execve. */
void watched_seek(struct watched *watched);

/* Tells the search which watched process called fork to make this one, so both likely have the same CPython. Call this
 * after watched_seek(). */
void watched_forked(struct watched *watched, const struct watched *parent);

/* Searches the process for a Python once. Due at search.find_ns. Returns
 *
 *     TARGET_READY: watched->target is open
 *     TARGET_GONE: the process has ended
 *     TARGET_DENIED, TARGET_UNSUPPORTED: final, with the reason
 *     TARGET_NOT_YET: search again at search.find_ns
 *
 * A call takes two or three system calls while the process does not run, and a few more while it runs the same program
 * and was searched lately. While nothing changes, search.find_ns is up to a quarter of this time away: at most 16 ms,
 * and of many processes that do not run, a millisecond for each, up to a second. A CPython that starts is asked each
 * 0.5 to 8 ms whether it has an interpreter. A process that maps a library becomes larger, and is searched at once; all
 * such searches together take a 64th of a processor at most.
 *
 * A refusal becomes final only after a while. A process that is ending has no memory left, which looks like missing
 * permission. A process that is starting may not have mapped all of its files. Without a reason, a refusal is of a
 * process whose files are those of another Python: watched_refusal() names it. */
enum target_state watched_find(struct watched *watched, struct fault *why);

/* Ends the search. TARGET_UNSUPPORTED: the process has the files of a CPython, and no runtime of one was found in its
 * memory, as `why` says. TARGET_NOT_YET: it is no Python. */
enum target_state watched_give_up(const struct watched *watched, struct fault *why);

/* Whether the process has had the files of a CPython for a second, and no runtime of one was found in its memory. Says
 * so in `why`. True at most once for each program: the search goes on. */
bool watched_puzzles(struct watched *watched, struct fault *why);

/* Explains to the user, in one sentence, why the process cannot be opened. `state` and `why` are the result of
 * watched_find(). Sets `why` to the sentence, and returns false. */
bool watched_refusal(const struct watched *watched, enum target_state state, struct fault *why);

#endif
