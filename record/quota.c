/* SPDX-License-Identifier: MIT */
#include "record/quota.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US 1000u

/* ---- small files ---- */

/* Reads the beginning of an open file as a string. False when there is nothing. */
static bool quota_read(int file, char *room, size_t size)
{
    const ssize_t got = file >= 0 ? pread(file, room, size - 1, 0) : -1;
    room[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool quota_read_in(const char *folder, const char *name, char *room, size_t size)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return false;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = quota_read(file, room, size);
    if (file >= 0)
        close(file);
    return good;
}

/* Reads the number behind a name at the start of a line. */
static bool quota_number(const char *text, const char *name, uint64_t *number)
{
    const size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, size) == 0 && line[size] == ' ') {
            *number = strtoull(line + size, NULL, 10);
            return true;
        }
    return false;
}

/* ---- one cgroup ---- */

static bool quota_count(int stat, struct quota_counts *counts)
{
    char text[2048];
    return quota_read(stat, text, sizeof(text)) && quota_number(text, "nr_periods", &counts->periods) &&
           quota_number(text, "nr_throttled", &counts->throttled);
}

/* Reads how much the cgroup may have: cpu.max ("20000 100000" or "max 100000", in us) or, in version 1, two files. */
static void level_read_limit(struct quota_level *level, const char *folder)
{
    char text[64], *at = text;
    long quota_us = 0, period_us = 0;
    if (quota_read_in(folder, "cpu.max", text, sizeof(text))) {
        quota_us = strtol(text, &at, 10); /* 0: "max" */
        period_us = strtol(at + strcspn(at, " "), NULL, 10);
    } else if (quota_read_in(folder, "cpu.cfs_quota_us", text, sizeof(text))) {
        quota_us = strtol(text, NULL, 10); /* -1: none */
        if (quota_read_in(folder, "cpu.cfs_period_us", text, sizeof(text)))
            period_us = strtol(text, NULL, 10);
    }
    level->processors = quota_us > 0 && period_us > 0 ? (double)quota_us / (double)period_us : 0;
    level->period_ns = period_us > 0 ? (uint64_t)period_us * US : 0;
}

/* Adds a cgroup that counts periods. The root of all cgroups does not. */
static void quota_add(struct quota *quota, const char *folder)
{
    char path[PATH_MAX];
    struct quota_level level = { 0 };
    if (quota->count == QUOTA_LEVELS || snprintf(path, sizeof(path), "%s/cpu.stat", folder) >= (int)sizeof(path))
        return;
    level.stat = open(path, O_RDONLY | O_CLOEXEC);
    if (level.stat < 0)
        return;
    if (!quota_count(level.stat, &level.before)) {
        close(level.stat);
        return;
    }
    level_read_limit(&level, folder);
    quota->levels[quota->count++] = level;
}

/* ---- finding the cgroups ---- */

/* Whether a list with commas has the word. */
static bool list_has(const char *list, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Finds the path of the recorder's cgroup: "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1. */
static bool own_cgroup(const char *root, bool unified, char path[PATH_MAX])
{
    char file_path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(file_path, sizeof(file_path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(file_path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char *controllers = strchr(line, ':'), *own = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!own)
            continue;
        *own++ = '\0';
        own[strcspn(own, "\n")] = '\0';
        found = unified ? controllers[1] == '\0' && line[0] == '0' : list_has(controllers + 1, "cpu");
        if (found && snprintf(path, PATH_MAX, "%s", own) >= PATH_MAX)
            found = false;
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Finds where the file system of cgroups is mounted, and which of its folders is there. A line of mountinfo:
 *
 *     32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu */
static bool cgroup_mount(const char *root, bool unified, char shown[PATH_MAX], char place[PATH_MAX])
{
    char file_path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(file_path, sizeof(file_path), "%s/proc/self/mountinfo", root);
    FILE *file = fopen(file_path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        char type[32] = "", options[512] = "";
        const char *rest = strstr(line, " - ");
        if (strlen(line) >= PATH_MAX || !rest || sscanf(rest, " - %31s %*s %511s", type, options) < 1 ||
            sscanf(line, "%*s %*s %*s %s %s", shown, place) != 2)
            continue;
        found = unified ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && list_has(options, "cpu");
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Adds the recorder's cgroup and those above it, up to the one that is mounted. */
static void quota_add_version(struct quota *quota, const char *root, bool unified)
{
    char own[PATH_MAX], shown[PATH_MAX], place[PATH_MAX], folder[PATH_MAX];
    if (!own_cgroup(root, unified, own) || !cgroup_mount(root, unified, shown, place))
        return;
    const size_t above = strcmp(shown, "/") == 0 ? 0 : strlen(shown);
    const bool inside = strncmp(own, shown, above) == 0 && !strstr(own, "..");
    const int least = snprintf(folder, sizeof(folder), "%s%s", root, place);
    const int size = snprintf(folder, sizeof(folder), "%s%s%s", root, place, inside ? own + above : "");
    if (size >= (int)sizeof(folder))
        return;
    for (char *end = folder + size; end >= folder + least && quota->count < QUOTA_LEVELS; end--) {
        if (*end != '/' && *end != '\0')
            continue;
        *end = '\0';
        if (end == folder + least || end[-1] != '/')
            quota_add(quota, folder);
    }
}

void quota_open(struct quota *quota, const char *root)
{
    *quota = (struct quota){ 0 };
    quota_add_version(quota, root, true);
    quota_add_version(quota, root, false);
}

/* ---- looking ---- */

struct quota_hit quota_look(const struct quota *quota)
{
    struct quota_hit worst = { 0 };
    for (size_t i = 0; i < quota->count; i++) {
        const struct quota_level *level = &quota->levels[i];
        struct quota_counts now;
        if (!quota_count(level->stat, &now) || now.throttled < level->before.throttled ||
            now.throttled - level->before.throttled <= worst.counts.throttled)
            continue;
        worst = (struct quota_hit){ .counts = { .periods = now.periods - level->before.periods,
                                                .throttled = now.throttled - level->before.throttled },
                                    .processors = level->processors,
                                    .period_ns = level->period_ns };
    }
    return worst;
}

void quota_close(struct quota *quota)
{
    for (size_t i = 0; i < quota->count; i++)
        close(quota->levels[i].stat);
    *quota = (struct quota){ 0 };
}
