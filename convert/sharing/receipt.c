/* SPDX-License-Identifier: MIT */
#include "convert/sharing/receipt.h"

#include "convert/sharing/store_answer.h"
#include "formats/base/alloc.h"
#include "formats/base/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST ((size_t)64 << 10) /* bytes of a file: an answer and an address, twice over */

__attribute__((format(printf, 1, 2))) static char *receipt_print(const char *format, ...)
{
    char *string;
    va_list values;
    va_start(values, format);
    if (vasprintf(&string, format, values) < 0)
        string = alloc_copy("", 0);
    va_end(values);
    return string;
}

/* $HOME, or what the system has as the user's home. */
static const char *home(void)
{
    const char *folder = getenv("HOME");
    if (folder && *folder == '/')
        return folder;
    const struct passwd *user = getpwuid(getuid());
    return user ? user->pw_dir : "/";
}

/* The folder of the uploads. The caller frees it. A relative $XDG_STATE_HOME does not count, as its specification says.
 */
static char *folder_path(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    if (state && *state == '/')
        return receipt_print("%s/pyreel/uploads", state);
    return receipt_print("%s/.local/state/pyreel/uploads", home());
}

/* Makes a folder and all folders above. */
static bool make_folders(char *path, struct fault *why)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool good = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!good)
            fault(why, "cannot make the folder %s: %s", path, strerror(errno));
        *slash = '/';
        if (!good)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ||
           fault(why, "cannot make the folder %s: %s", path, strerror(errno));
}

/* Opens the folder, which nobody else may own or read. Returns -1 with the reason on failure. */
static int open_folder(const char *path, struct fault *why)
{
    struct stat there;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &there) != 0) {
        fault(why, "cannot open the folder %s: %s", path, strerror(errno));
    } else if (there.st_uid != geteuid()) {
        fault(why, "the folder %s belongs to another user; name one of yours in XDG_STATE_HOME", path);
    } else if ((there.st_mode & 077) == 0 || fchmod(fd, 0700) == 0) {
        return fd;
    } else {
        fault(why, "cannot keep others out of the folder %s: %s", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Creates the file without a name, so nothing remains however the program ends. Where the file system has no files
 * without a name, the file has a temporary one. */
static void create(struct receipt_file *file)
{
    file->fd = open(file->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file->fd >= 0)
        return;
    file->unfinished = receipt_print("%s/.unfinished-XXXXXX", file->folder);
    file->fd = mkostemp(file->unfinished, O_CLOEXEC); /* mode 0600 */
    if (file->fd >= 0)
        return;
    free(file->unfinished);
    file->unfinished = NULL;
}

bool receipt_begin(struct receipt_file *file, struct fault *why)
{
    *file = (struct receipt_file){ .folder = folder_path(), .fd = -1 };
    const int folder = make_folders(file->folder, why) ? open_folder(file->folder, why) : -1;
    if (folder >= 0) {
        close(folder);
        create(file);
        if (file->fd >= 0)
            return true;
        fault(why, "cannot create a file in %s: %s", file->folder, strerror(errno));
    }
    receipt_abandon(file);
    return false;
}

void receipt_abandon(struct receipt_file *file)
{
    if (!file->folder)
        return;
    if (file->unfinished)
        unlink(file->unfinished);
    if (file->fd >= 0)
        close(file->fd);
    free(file->unfinished);
    free(file->folder);
    *file = (struct receipt_file){ 0 };
}

/* A number that is the same for the same server (FNV-1a). */
static uint32_t server_number(const char *server)
{
    uint32_t number = 2166136261u;
    for (; *server; server++)
        number = (number ^ (unsigned char)*server) * 16777619u;
    return number;
}

/* Gives the file its name. A file of that name is of an earlier profile with the same token: a store says who is who.
 */
static bool receipt_name_file(struct receipt_file *file, const char *path)
{
    char link[64];
    if (!file->unfinished) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
        return (unlink(path) == 0 || errno == ENOENT) && linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
    }
    const bool good = rename(file->unfinished, path) == 0;
    if (good) {
        free(file->unfinished);
        file->unfinished = NULL;
    }
    return good;
}

bool receipt_end(struct receipt_file *file, const struct receipt *receipt, struct fault *why)
{
    json_t *value = json_pack("{s:s, s:s, s:s, s:s}", "server", receipt->server, "token", receipt->token, "proof",
                              receipt->proof, "link", receipt->link);
    char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
    char *path = receipt_print("%s/%s-%08" PRIx32 ".json", file->folder, receipt->token,
                               server_number(receipt->server));
    const bool good = (text && output_write_all(file->fd, text, strlen(text)) && fsync(file->fd) == 0 &&
                       receipt_name_file(file, path)) ||
                      fault(why, "cannot write %s: %s", path, strerror(errno));
    free(path);
    free(text);
    json_decref(value);
    receipt_abandon(file);
    return good;
}

/* ---- finding ---- */

static char *member(const json_t *value, const char *key)
{
    const json_t *text = json_object_get(value, key);
    return json_is_string(text) ? alloc_copy(json_string_value(text), json_string_length(text)) : NULL;
}

/* Reads a file of the folder. False when it is none of ours. */
static bool read_receipt(struct receipt *receipt, int folder, const char *name)
{
    char bytes[FILE_MOST];
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0)
        close(fd);
    json_t *value = size > 0 ? json_loadb(bytes, (size_t)size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    *receipt = (struct receipt){ .server = member(value, "server"),
                                 .token = member(value, "token"),
                                 .proof = member(value, "proof"),
                                 .link = member(value, "link") };
    json_decref(value);
    if (receipt->server && receipt->token && receipt->link && receipt->proof &&
        store_answer_is_proof(text_of(receipt->proof)))
        return true;
    receipt_free(receipt);
    return false;
}

static bool begins_with_token(const char *name, const char *token)
{
    const size_t size = strlen(token);
    return strncmp(name, token, size) == 0 && name[size] == '-';
}

/* Finds uploads of the token in an open folder. Returns their number; *receipt is the first one. */
static size_t receipt_find_in(struct receipt *receipt, DIR *folder, const char *token, const char *server)
{
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        struct receipt other;
        if (!begins_with_token(entry->d_name, token) || !read_receipt(&other, dirfd(folder), entry->d_name))
            continue;
        const bool wanted = strcmp(other.token, token) == 0 && (!server || strcmp(other.server, server) == 0);
        if (wanted && count++ == 0) {
            *receipt = other;
            receipt->path = alloc_copy(entry->d_name, strlen(entry->d_name));
        } else {
            receipt_free(&other);
        }
    }
    return count;
}

/* Makes the whole path of the file name in receipt->path. */
static void complete_path(struct receipt *receipt, const char *folder)
{
    char *name = receipt->path;
    receipt->path = receipt_print("%s/%s", folder, name);
    free(name);
}

bool receipt_find(struct receipt *receipt, const char *token, const char *server, struct fault *why)
{
    char *path = folder_path();
    struct fault unseen = { 0 };
    const int fd = open_folder(path, &unseen);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    *receipt = (struct receipt){ 0 };
    const size_t count = folder ? receipt_find_in(receipt, folder, token, server) : 0;
    if (folder)
        closedir(folder);
    if (count == 1)
        complete_path(receipt, path);
    else if (count > 1)
        fault(why, "several stores have a profile with this token; say which one with --server URL");
    else
        fault(
            why,
            "%s has no proof that you uploaded this profile%s%s: only the user and the machine that uploaded a profile "
            "can delete it, and only once",
            path, server ? " to " : "", server ? server : "");
    free(path);
    if (count != 1)
        receipt_free(receipt);
    return count == 1;
}

bool receipt_remove(const struct receipt *receipt, struct fault *why)
{
    return unlink(receipt->path) == 0 || errno == ENOENT ||
           fault(why, "cannot remove %s: %s", receipt->path, strerror(errno));
}

void receipt_free(struct receipt *receipt)
{
    free(receipt->path);
    free(receipt->server);
    free(receipt->token);
    free(receipt->proof);
    free(receipt->link);
    *receipt = (struct receipt){ 0 };
}
