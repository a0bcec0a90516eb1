/* SPDX-License-Identifier: MIT */
#include "record/file/output_name.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"

#include <stdlib.h>
#include <sys/utsname.h>

#define TIME_ROOM 256 /* bytes that the parts of a time may need beyond the pattern */

/* The variables in which the starters of jobs say which of its processes this one is. */
static const char *const rank_variables[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                                              "SLURM_PROCID" };

static const char *rank_in_job(void)
{
    const char *found = NULL;
    for (size_t i = 0; !found && i < countof(rank_variables); i++)
        found = getenv(rank_variables[i]);
    return found && *found ? found : "none";
}

/* Appends a text as strftime() shows it unchanged. A slash in it would be a folder. */
static void put_plain(struct bytes *to, const char *text)
{
    for (; *text; text++)
        put_string(to, *text == '%' ? "%%" : *text == '/' ? "_" : (char[]){ *text, '\0' });
}

/* Replaces what strftime() does not know, or knows as something else. */
static void put_own(struct bytes *to, const char *pattern, pid_t pid)
{
    struct utsname host = { 0 };
    for (const char *at = pattern; *at; at++) {
        const char letter = *at == '%' ? at[1] : '\0';
        if (letter == 'h' && uname(&host) == 0)
            put_plain(to, host.nodename);
        else if (letter == 'p')
            put_format(to, "%d", (int)pid);
        else if (letter == 'r')
            put_plain(to, rank_in_job());
        else
            put_bytes(to, at, letter ? 2 : 1);
        at += letter != '\0';
    }
    put_bytes(to, "", 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the pattern is the user's, and strftime() takes no arguments   \
                                                      */

static bool put_time(char *name, size_t room, const char *pattern, time_t now)
{
    struct tm moment;
    return gmtime_r(&now, &moment) && strftime(name, room, pattern, &moment) > 0;
}

#pragma GCC diagnostic pop

char *output_name(const char *pattern, pid_t pid, time_t now)
{
    struct bytes own = { 0 };
    if (!pattern)
        return NULL;
    put_own(&own, pattern, pid);
    const size_t room = own.size + TIME_ROOM;
    char *name = alloc_zeroed(room, 1);
    if (!put_time(name, room, (const char *)own.at, now)) { /* a libc that knows one of the sequences not at all */
        free(name);
        name = alloc_copy((const char *)own.at, own.size - 1);
    }
    bytes_free(&own);
    return name;
}
