/* SPDX-License-Identifier: MIT */
#include "record/guard/guard.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum when {
    ALWAYS,
    FOR_SIGNALS, /* guard_needs.signals */
    FOR_FOLDERS  /* guard_needs.files or .folder */
};

/* The capabilities that may stay, if the recorder has them. */
static const struct {
    unsigned number;
    enum when when;
    const char *name;
} kept[] = {
    { CAP_SYS_PTRACE, ALWAYS, "sys_ptrace" },           /* processes of other users, and of other namespaces */
    { CAP_DAC_READ_SEARCH, ALWAYS, "dac_read_search" }, /* files of /proc, programs and libraries in private folders */
    { CAP_SYS_NICE, ALWAYS, "sys_nice" },               /* posts that begin later raise their priority */
    { CAP_KILL, FOR_SIGNALS, "kill" },                  /* the command may have become another user: sudo, setpriv */
    { CAP_DAC_OVERRIDE, FOR_FOLDERS, "dac_override" },  /* names in a folder of another user */
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_needed(enum when when, const struct guard_needs *needs)
{
    return when == ALWAYS || (when == FOR_SIGNALS && needs->signals) ||
           (when == FOR_FOLDERS && (needs->files || needs->folder));
}

static uint64_t wanted_capabilities(const struct guard_needs *needs)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < COUNT(kept); i++)
        if (is_needed(kept[i].when, needs))
            wanted |= (uint64_t)1 << kept[i].number;
    return wanted;
}

/* The capabilities that reading takes besides the wanted ones. Without CAP_SYS_PTRACE, as in a container, the kernel
 * lets a process be read only by one that has all capabilities of that process: all that the recorder has must stay. */
static uint64_t reading_capabilities(uint64_t had)
{
    return had >> CAP_SYS_PTRACE & 1 ? 0 : UINT64_MAX;
}

/* Keeps the wanted ones of the capabilities that the thread has. *had: those before, *has: those that stayed. */
static bool drop_capabilities(uint64_t wanted, uint64_t *had, uint64_t *has)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    *had = data[0].permitted | (uint64_t)data[1].permitted << 32;
    wanted |= reading_capabilities(*had);
    for (size_t i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(wanted >> 32 * i);
        data[i].effective &= (uint32_t)(wanted >> 32 * i);
        data[i].inheritable = 0; /* with these, the ambient ones go */
    }
    *has = data[0].permitted | (uint64_t)data[1].permitted << 32;
    return syscall(SYS_capset, &head, data) == 0;
}

/* Appends to a text, as far as there is room. */
static void text_append_word(char *text, const char *word)
{
    const size_t used = strlen(text);
    snprintf(text + used, GUARD_TEXT - used, "%s%s", used ? ", " : "", word);
}

static void put_capabilities(char *text, uint64_t had, uint64_t has)
{
    char list[128] = "";
    char words[192];
    if (had && reading_capabilities(had)) {
        text_append_word(text, "all capabilities are kept, because CAP_SYS_PTRACE is not among them");
        return;
    }
    for (size_t i = 0; i < COUNT(kept); i++)
        if (has >> kept[i].number & 1)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", kept[i].name);
    snprintf(words, sizeof(words), "%d of %d capabilities are kept (%s)", __builtin_popcountll(has),
             __builtin_popcountll(had), list[0] ? list + 1 : "none");
    text_append_word(text, words);
}

void guard_enter(const struct guard_needs *needs, char text[GUARD_TEXT])
{
    uint64_t had = 0, has = 0;
    char words[128];
    text[0] = '\0';
    if (drop_capabilities(wanted_capabilities(needs), &had, &has)) {
        put_capabilities(text, had, has);
    } else {
        snprintf(words, sizeof(words), "all capabilities are kept: %s", strerror(errno));
        text_append_word(text, words);
    }
    text_append_word(text, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? "no_new_privs is set"
                                                                       : "no_new_privs is unknown here");
    if (guard_filter(needs)) {
        text_append_word(text, "system calls are filtered");
    } else {
        snprintf(words, sizeof(words), "system calls are not filtered: %s", strerror(errno));
        text_append_word(text, words);
    }
}
