/* SPDX-License-Identifier: MIT */
#include "convert/top/following.h"

#include "formats/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING      ".pyreel"
#define NUMBER_MOST 99999999u
#define NAP_MS      10 /* between two looks for the header of the next file */

/* ---- names of files ---- */

/* The number in the name of a file, which begins with `size` bytes of `stem`: 12 for "app-0012.pyreel" and "app-"; 0:
 * the name is another one. */
static uint32_t number_in(const char *name, const char *stem, size_t size)
{
    char *end;
    if (strncmp(name, stem, size) != 0 || name[size] < '0' || name[size] > '9')
        return 0;
    errno = 0;
    const unsigned long number = strtoul(name + size, &end, 10);
    return errno == 0 && strcmp(end, ENDING) == 0 && number <= NUMBER_MOST ? (uint32_t)number : 0;
}

/* The file in the folder with the smallest number that is larger than `above`; NULL: none. The caller frees it. */
static char *next_name(DIR *folder, const char *stem, size_t size, uint32_t above, uint32_t *number)
{
    char *name = NULL;
    rewinddir(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const uint32_t found = number_in(entry->d_name, stem, size);
        if (found <= above || (name && found >= *number))
            continue;
        free(name);
        name = alloc_copy(entry->d_name, strlen(entry->d_name));
        *number = found;
    }
    return name;
}

static char *path_beside(const char *path, size_t folder_size, const char *name)
{
    char *beside = NULL;
    if (asprintf(&beside, "%.*s%s", (int)folder_size, path, name) < 0)
        return NULL;
    return beside;
}

/* ---- the next part ---- */

/* Waits for the header of a file that its recorder has just made. False when there will be none, or the file is of
 * another recording, or of an earlier part. */
static bool is_next(const struct following *following, const char *path)
{
    for (bool last = false;;) {
        struct part_header header = parts_read_header(path);
        const bool fits = parts_are_of_one(&following->header, &header) && header.part > following->header.part;
        text_free(header.host);
        if (fits || last || header.bytes >= SOURCE_HEAD || following->feed->abandon)
            return fits;
        last = !feed_is_written(path);
        poll(NULL, 0, NAP_MS);
    }
}

/* The next part in the folder of the part that was read; NULL: none. The caller frees it. */
static char *find_beside(const struct following *following)
{
    const char *path = following->path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dash = strrchr(name, '-');
    const size_t folder_size = (size_t)(name - path), stem_size = dash ? (size_t)(dash - name) + 1 : 0;
    uint32_t number = dash ? number_in(name, name, stem_size) : 0;
    char *folder_path = path_beside(path, folder_size, ".");
    DIR *folder = number && folder_path ? opendir(folder_path) : NULL;
    char *found = NULL;
    for (char *next; folder && !found && (next = next_name(folder, name, stem_size, number, &number)); free(next)) {
        found = path_beside(path, folder_size, next);
        if (found && !is_next(following, found)) {
            free(found);
            found = NULL;
        }
    }
    if (folder)
        closedir(folder);
    free(folder_path);
    return found;
}

/* The next part among the files that the user has named; NULL: none. */
static const char *find_known(const struct following *following)
{
    const struct part_list *known = following->known;
    for (size_t i = 0; known && i < known->parts.count; i++)
        if (known->parts.numbers[i] > following->header.part)
            return known->parts.paths[i];
    return NULL;
}

static void ended(void *self)
{
    struct following *following = self;
    following->feed->stop = true;
}

static int open_next(void *self, uint32_t *number)
{
    struct following *following = self;
    const char *known = find_known(following);
    char *path = known ? alloc_copy(known, strlen(known)) : find_beside(following);
    if (!path || following->feed->abandon) {
        free(path);
        return -1;
    }
    free(following->path);
    text_free(following->header.host);
    following->path = path;
    following->header = parts_read_header(path);
    following->part = *number = following->header.part;
    return feed_next(following->feed, open(path, O_RDONLY | O_CLOEXEC));
}

/* ---- the two ends ---- */

bool following_begin(struct following *following, struct feed *feed, const struct part_list *known)
{
    struct pollfd bytes = { .fd = feed->from, .events = POLLIN };
    while (poll(&bytes, 1, -1) < 0 && errno == EINTR)
        continue;
    following->feed = feed;
    following->known = known;
    following->path = alloc_copy(feed->path, strlen(feed->path));
    following->header = parts_read_header(feed->path);
    following->part = following->header.part;
    following->row = (struct source_following){ .self = following, .ended = ended, .open_next = open_next };
    following->parts = (struct source_parts){
        .paths = &following->path, .numbers = &following->header.part, .count = 1, .following = &following->row
    };
    return following->header.part > 0;
}

void following_end(struct following *following)
{
    text_free(following->header.host);
    free(following->path);
    following->header = (struct part_header){ 0 };
    following->path = NULL;
}
