/* SPDX-License-Identifier: MIT */
#include "formats/base/sticky_dir.h"

#include "formats/base/alloc.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stats the folder of a path. True when every user may write in the folder and only a file's owner may remove the file.
 */
static bool find_shared(const char *path, struct stat *folder)
{
    char *copy = alloc_copy(path, strlen(path));
    const bool shared = stat(dirname(copy), folder) == 0 && folder->st_mode & S_ISVTX && folder->st_mode & S_IWOTH;
    free(copy);
    return shared;
}

bool sticky_dir_holds(const char *path)
{
    struct stat folder;
    return find_shared(path, &folder);
}

bool sticky_dir_is_strange_link(const char *path)
{
    struct stat folder, link;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && find_shared(path, &folder) && link.st_uid != geteuid() &&
           link.st_uid != folder.st_uid;
}
