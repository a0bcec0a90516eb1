/* SPDX-License-Identifier: MIT */
#include "record/process/procfs.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/intern/name.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FILE_LIMIT   ((size_t)1 << 20) /* bytes; the small files of /proc are smaller */
#define MAPS_BUFFER  4096              /* bytes; the kernel gives not more of /proc/PID/maps at once */
#define AUXV_ENTRIES 64
#define STAT_ROOM    1024 /* bytes of a file `stat` */
#define READERS      16   /* threads among which one that lives is sought: those that end are soon out of the list */
#define COMMAND_ROOM 4096 /* bytes of a command line that the mark is of; more than a title */

static FILE *open_proc(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

static struct text read_proc(pid_t pid, const char *name)
{
    struct bytes bytes = { 0 };
    FILE *file = open_proc(pid, name);
    char part[4096];
    for (size_t got = 1; file && got > 0 && bytes.size < FILE_LIMIT;) {
        got = fread(part, 1, sizeof(part), file);
        put_bytes(&bytes, part, got);
    }
    if (file)
        fclose(file);
    return (struct text){ (const char *)bytes.at, bytes.size };
}

static struct text clean_and_free(struct text raw)
{
    const struct text cleaned = utf8_clean(raw);
    text_free(raw);
    return cleaned;
}

/* ---- mapped files ---- */

void procfs_images_add(struct images *images, struct image image)
{
    images->rows = alloc_grow(images->rows, &images->room, images->count + 1, sizeof(*images->rows));
    images->rows[images->count++] = image;
}

/* Adds the mapping that a line of /proc/PID/maps describes if it is the head of a file:
 *
 *     START-END FLAGS OFFSET MAJOR:MINOR INODE          PATH
 *
 * All numbers but the inode are hexadecimal. A large program has a thousand lines, so this is no sscanf(). */
static void images_add_mapping(struct images *images, const char *line, const struct stat *program)
{
    char *at;
    const uint64_t start = strtoull(line, &at, 16);
    const char *flags = strchr(at, ' ');
    const char *offset = flags && flags[1] == 'r' ? strchr(flags + 1, ' ') : NULL;
    if (!offset || strtoull(offset, &at, 16) != 0 || *at != ' ')
        return;
    const unsigned device_major = (unsigned)strtoul(at, &at, 16);
    const unsigned device_minor = *at == ':' ? (unsigned)strtoul(at + 1, &at, 16) : 0;
    const uint64_t inode = strtoull(at, &at, 10);
    if (inode == 0)
        return;
    const char *path = at + strspn(at, " ");
    const uint64_t device = makedev(device_major, device_minor);
    procfs_images_add(images, (struct image){ .address = start,
                                              .device = device,
                                              .inode = inode,
                                              .program = program->st_ino == inode && program->st_dev == device,
                                              .path = alloc_copy(path, strcspn(path, "\n")) });
}

static int rank(const struct image *image)
{
    if (image->program)
        return 0;
    return strstr(image->path, "python") ? 1 : 2;
}

static int compare_images(const void *a, const void *b)
{
    const struct image *first = a, *second = b;
    const int by_rank = rank(first) - rank(second);
    if (by_rank != 0)
        return by_rank;
    return first->address < second->address ? -1 : first->address > second->address;
}

static bool stat_program(pid_t pid, struct stat *program)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, program) == 0;
}

bool procfs_program(pid_t pid, uint64_t *device, uint64_t *inode)
{
    struct stat program;
    if (!stat_program(pid, &program) && !stat_program(procfs_reader(pid), &program))
        return false;
    *device = program.st_dev;
    *inode = program.st_ino;
    return true;
}

void procfs_images_sort(struct images *images)
{
    if (images->count > 0)
        qsort(images->rows, images->count, sizeof(*images->rows), compare_images);
}

bool procfs_images(pid_t pid, struct images *images)
{
    *images = (struct images){ 0 };
    FILE *maps = open_proc(pid, "maps");
    if (!maps)
        return false;
    setvbuf(maps, NULL, _IOFBF, MAPS_BUFFER);
    struct stat program = { 0 };
    if (!stat_program(pid, &program))
        program = (struct stat){ 0 };
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, maps) > 0)
        images_add_mapping(images, line, &program);
    free(line);
    fclose(maps);
    procfs_images_sort(images);
    return true;
}

bool procfs_mapping(pid_t pid, uint64_t address, struct mapping *mapping)
{
    FILE *maps = open_proc(pid, "maps");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (maps && !found && getline(&line, &room, maps) > 0)
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &mapping->low, &mapping->high) == 2)
            found = address >= mapping->low && address < mapping->high;
    mapping->stack = found && strstr(line, "[stack]") != NULL;
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

/* The name of the private mapping of a line of /proc/PID/maps, which stands behind five words; NULL: it is none. */
static const char *private_name(const char *line, struct mapping *mapping)
{
    char mode[5];
    int at = 0;
    const int words = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &mapping->low, &mapping->high, mode,
                             &at);
    return words == 3 && at > 0 && mode[3] == 'p' ? line + at : NULL;
}

void procfs_private_mappings(pid_t pid, const char *const *names, struct mapping *found, size_t count)
{
    FILE *maps = open_proc(pid, "maps");
    char *line = NULL;
    size_t room = 0;
    memset(found, 0, count * sizeof(*found));
    while (maps && getline(&line, &room, maps) > 0) {
        struct mapping mapping = { 0 };
        const char *name = private_name(line, &mapping);
        for (size_t i = 0; name && i < count; i++)
            if (found[i].high == 0 && strncmp(name, names[i], strlen(names[i])) == 0)
                found[i] = mapping;
    }
    free(line);
    if (maps)
        fclose(maps);
}

void procfs_images_free(struct images *images)
{
    for (size_t i = 0; i < images->count; i++)
        free(images->rows[i].path);
    free(images->rows);
    *images = (struct images){ 0 };
}

int procfs_open_regular(const char *path)
{
    char judged[64]; /* the file that was judged, whatever its path names by now */
    struct stat file;
    const int seen = open(path, O_PATH | O_CLOEXEC);
    if (seen < 0)
        return -1;
    const bool regular = fstat(seen, &file) == 0 && S_ISREG(file.st_mode);
    snprintf(judged, sizeof(judged), "/proc/self/fd/%d", seen);
    errno = EINVAL;
    const int fd = regular ? open(judged, O_RDONLY | O_CLOEXEC) : -1;
    const int cause = errno;
    close(seen);
    errno = cause;
    return fd;
}

/* Opens a file; returns -1 if it is not the one that is mapped. */
static int open_mapped(const char *path, const struct image *image)
{
    struct stat file;
    const int fd = procfs_open_regular(path);
    if (fd >= 0 && fstat(fd, &file) == 0 && file.st_ino == image->inode)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The program has a link of its own, /proc/PID/exe. The path of a library begins at the process's root folder; after a
 * chroot, it may begin at the recorder's root folder. All three begin with /proc/, by which stuck.h tells the files of
 * the process from the output. */
int procfs_open_image(pid_t pid, const struct image *image)
{
    char path[4200];
    if (image->program)
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    else
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, image->path);
    const int fd = open_mapped(path, image);
    if (fd >= 0 || image->program)
        return fd;
    snprintf(path, sizeof(path), "/proc/self/root%s", image->path);
    return open_mapped(path, image);
}

/* ---- texts ---- */

static ssize_t link_target(pid_t pid, const char *name, char *target, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return readlink(path, target, room);
}

static struct text read_link(pid_t pid, const char *name)
{
    char target[4096];
    ssize_t size = link_target(pid, name, target, sizeof(target));
    if (size < 0)
        size = link_target(procfs_reader(pid), name, target, sizeof(target));
    return size > 0 ? utf8_clean((struct text){ target, (size_t)size }) : (struct text){ 0 };
}

struct text procfs_executable(pid_t pid)
{
    return read_link(pid, "exe");
}

/* After a chroot() the kernel tells the folder from the recorder's root folder on, and the program's files are named
 * from the program's own root folder on. */
struct text procfs_folder(pid_t pid)
{
    const struct text folder = read_link(pid, "cwd"), root = read_link(pid, "root");
    const bool below = root.size > 1 && text_begins(folder, root) &&
                       (folder.size == root.size || folder.bytes[root.size] == '/');
    struct text own = below ? (struct text){ folder.bytes + root.size, folder.size - root.size } : folder;
    if (below && own.size == 0)
        own = (struct text){ "/", 1 };
    own = text_copy(own);
    text_free(folder);
    text_free(root);
    return own;
}

struct text procfs_thread_name(pid_t pid, pid_t tid)
{
    char name[64];
    snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
    struct text comm = read_proc(pid, name);
    if (comm.size > 0 && comm.bytes[comm.size - 1] == '\n')
        comm.size--;
    return clean_and_free(comm);
}

static bool plain_argument(const char *argument)
{
    if (*argument == '\0')
        return false;
    for (const char *c = argument; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-./=:,+@%", *c))
            return false;
    return true;
}

static void put_quoted(struct bytes *to, const char *argument)
{
    put_bytes(to, "'", 1);
    for (const char *c = argument; *c; c++)
        put_bytes(to, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
    put_bytes(to, "'", 1);
}

static void argument_put_quoted(struct bytes *to, const char *argument)
{
    if (plain_argument(argument))
        put_string(to, argument);
    else
        put_quoted(to, argument);
}

struct text procfs_quote_arguments(struct text arguments)
{
    struct bytes quoted = { 0 };
    char *copy = alloc_copy(arguments.bytes, arguments.size);
    for (size_t at = 0; at < arguments.size; at += strlen(copy + at) + 1) {
        if (at > 0)
            put_bytes(&quoted, " ", 1);
        argument_put_quoted(&quoted, copy + at);
    }
    free(copy);
    return clean_and_free((struct text){ (const char *)quoted.at, quoted.size });
}

struct text procfs_quote_command(char **arguments)
{
    struct bytes joined = { 0 };
    for (char **argument = arguments; *argument; argument++)
        put_bytes(&joined, *argument, strlen(*argument) + 1);
    const struct text quoted = procfs_quote_arguments((struct text){ (const char *)joined.at, joined.size });
    bytes_free(&joined);
    return quoted;
}

#define TITLE_MOST 1000 /* bytes of a title that are kept */

/* Whether a text is a path of the program that runs, or of a Python, whose executable may have another name. */
static bool is_path_of_program(pid_t pid, const char *text)
{
    const struct text executable = procfs_executable(pid);
    const char *slash = executable.size ? memrchr(executable.bytes, '/', executable.size) : NULL;
    const char *name = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
    const size_t size = slash ? executable.size - (size_t)(slash + 1 - executable.bytes) : 0;
    const bool same = strncmp(name, "python", 6) == 0 ||
                      (slash && strlen(name) == size && memcmp(name, slash + 1, size) == 0);
    text_free(executable);
    return same || *text == '/' || *text == '.';
}

/* The title that a process has written over its arguments, which the caller frees: one text, and behind it nothing but
 * zeros, or the blanks of some programs. NULL: these are arguments. A title of one word without a slash is shown in
 * the same way as an argument, so that it need not be told from one. */
static char *title_in(pid_t pid, struct text arguments)
{
    size_t size = arguments.size ? strnlen(arguments.bytes, arguments.size) : 0;
    for (size_t at = size; at < arguments.size; at++)
        if (arguments.bytes[at])
            return NULL;
    while (size > 0 && arguments.bytes[size - 1] == ' ')
        size--;
    char *title = alloc_copy(arguments.bytes, size < TITLE_MOST ? size : TITLE_MOST);
    const bool written = strpbrk(title, " /") || (size > 0 && arguments.size - size > 1);
    if (written && !is_path_of_program(pid, title))
        return title;
    free(title);
    return NULL;
}

/* Whether there is nothing but the zeros of a title that was erased. */
static bool is_erased(struct text arguments)
{
    size_t zeros = 0;
    while (zeros < arguments.size && arguments.bytes[zeros] == '\0')
        zeros++;
    return zeros == arguments.size;
}

struct text procfs_command(pid_t pid)
{
    const struct text own = read_proc(pid, "cmdline");
    const struct text arguments = own.size > 0 ? own : read_proc(procfs_reader(pid), "cmdline");
    if (is_erased(arguments)) {
        text_free(arguments);
        return (struct text){ 0 };
    }
    char *title = title_in(pid, arguments);
    struct bytes quoted = { 0 };
    if (title)
        put_quoted(&quoted, title);
    const struct text command = title ? clean_and_free(bytes_text(&quoted)) : procfs_quote_arguments(arguments);
    free(title);
    text_free(arguments);
    return command;
}

/* ---- numbers ---- */

bool procfs_number(const char *path, const char *name, int base, uint64_t *number)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    const size_t size = strlen(name);
    while (file && !found && getline(&line, &room, file) > 0) {
        found = strncmp(line, name, size) == 0 && line[size] == ':';
        if (found)
            *number = strtoull(line + size + 1, NULL, base);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Reads the beginning of a file of the process as a string. Returns the string's length. */
static size_t read_small(pid_t pid, const char *name, char *into, size_t room)
{
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, into, room - 1) : -1;
    if (file >= 0)
        close(file);
    into[size > 0 ? size : 0] = '\0';
    return size > 0 ? (size_t)size : 0;
}

/* Reads a file of /proc/PID that tells of the memory of the process. A first thread that has ended has no memory, so
 * another thread is asked then. */
static size_t read_of_memory(pid_t pid, const char *name, char *into, size_t room)
{
    return read_small(procfs_reader(pid), name, into, room);
}

uint64_t procfs_command_mark(pid_t pid)
{
    char arguments[COMMAND_ROOM];
    const size_t size = read_of_memory(pid, "cmdline", arguments, sizeof(arguments));
    const uint64_t mark = name_hash(NAME_HASH_START, (struct text){ arguments, size });
    return size ? mark | 1 : 0;
}

/* A file `stat` is "PID (NAME) STATE ...", and NAME may have any characters. Returns the text from the n-th field on,
 * where n is greater than 2; NULL: there is none. */
static const char *field_of(const char *stat, int n)
{
    const char *field = strrchr(stat, ')');
    for (int number = 2; field && number < n; number++)
        field = strchr(field + 1, ' ');
    return field ? field + 1 : NULL;
}

/* What the kernel told the program at execve, by the number of the entry; 0: not known. */
static uint64_t procfs_auxiliary(pid_t pid, uint64_t number)
{
    uint64_t entries[AUXV_ENTRIES][2] = { { 0 } };
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, entries, sizeof(entries)) : -1;
    if (file >= 0)
        close(file);
    for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(entries[0]); i++)
        if (entries[i][0] == number)
            return entries[i][1];
    return 0;
}

uint64_t procfs_random(pid_t pid)
{
    return procfs_auxiliary(pid, AT_RANDOM);
}

uint64_t procfs_vdso(pid_t pid)
{
    return procfs_auxiliary(pid, AT_SYSINFO_EHDR);
}

/* The start is field 22 of `stat`, in ticks. */
bool procfs_started(pid_t pid, uint64_t *started_ns)
{
    char stat[STAT_ROOM];
    read_small(pid, "stat", stat, sizeof(stat));
    const char *field = field_of(stat, 22);
    const long ticks_a_second = sysconf(_SC_CLK_TCK);
    if (!field || ticks_a_second <= 0)
        return false;
    *started_ns = strtoull(field, NULL, 10) * (1000000000u / (uint64_t)ticks_a_second);
    return true;
}

uint64_t procfs_pages(pid_t pid)
{
    char text[128];
    read_of_memory(pid, "statm", text, sizeof(text));
    return strtoull(text, NULL, 10);
}

size_t procfs_count_threads(pid_t pid)
{
    char path[64];
    struct stat task;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return stat(path, &task) == 0 && task.st_nlink > 2 ? task.st_nlink - 2 : 0;
}

size_t procfs_threads(pid_t pid, pid_t *tids, size_t room)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && count < room && (task = readdir(tasks));)
        if (isdigit((unsigned char)task->d_name[0]))
            tids[count++] = (pid_t)strtol(task->d_name, NULL, 10);
    if (tasks)
        closedir(tasks);
    return count;
}

/* A thread that is about to sleep has the state "sleeping" already while it still has a processor. Its file wchan, the
 * kernel function in which it sleeps, is "0" until it has none. */
bool procfs_sleeps(pid_t pid, pid_t tid)
{
    char name[64], stat[STAT_ROOM], wchan[128];
    snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
    read_small(pid, name, stat, sizeof(stat));
    const char *state = field_of(stat, 3);
    if (!state || (*state != 'S' && *state != 'D' && *state != 'T'))
        return false;
    snprintf(name, sizeof(name), "task/%d/wchan", (int)tid);
    return read_small(pid, name, wchan, sizeof(wchan)) > 0 && strcmp(wchan, "0") != 0;
}

/* The last number of the NSpid line, which is the number in the innermost namespace. */
static pid_t ns_number(const char *status_path)
{
    FILE *status = fopen(status_path, "re");
    char *line = NULL;
    size_t room = 0;
    pid_t number = 0;
    while (status && getline(&line, &room, status) > 0) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        const char *last = line + strcspn(line, "\n");
        while (last > line && !isspace((unsigned char)last[-1]))
            last--;
        number = (pid_t)strtol(last, NULL, 10);
    }
    free(line);
    if (status)
        fclose(status);
    return number;
}

pid_t procfs_ns_pid(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return ns_number(path);
}

bool procfs_same_pids(pid_t pid)
{
    const struct text ours = read_link(getpid(), "ns/pid"), theirs = read_link(pid, "ns/pid");
    const bool same = text_equal(ours, theirs);
    text_free(ours);
    text_free(theirs);
    return same;
}

bool procfs_map_threads(pid_t pid, bool same, struct intern_pairs *threads)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char status[sizeof(path) + sizeof(task->d_name) + 16];
        if (!isdigit((unsigned char)task->d_name[0]))
            continue;
        const uint32_t tid = (uint32_t)strtoul(task->d_name, NULL, 10);
        if (tid == (uint32_t)pid && !procfs_thread_lives(pid, pid))
            continue;
        snprintf(status, sizeof(status), "%s/%s/status", path, task->d_name);
        const uint32_t ns_tid = same ? tid : (uint32_t)ns_number(status);
        if (ns_tid && !intern_pairs_find(threads, ns_tid, 0))
            intern_pairs_add(threads, ns_tid, 0, tid);
    }
    if (tasks)
        closedir(tasks);
    return tasks;
}

bool procfs_thread_gone(pid_t pid, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
    if (access(path, F_OK) != 0)
        return errno == ENOENT || errno == ESRCH;
    return tid == pid && !procfs_thread_lives(pid, tid);
}

bool procfs_thread_lives(pid_t pid, pid_t tid)
{
    char name[64], stat[STAT_ROOM];
    snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
    read_small(pid, name, stat, sizeof(stat));
    const char *state = field_of(stat, 3);
    return state && *state != 'Z' && *state != 'X';
}

pid_t procfs_reader(pid_t pid)
{
    pid_t tids[READERS];
    if (procfs_thread_lives(pid, pid))
        return pid;
    const size_t count = procfs_threads(pid, tids, countof(tids));
    for (size_t i = 0; i < count; i++)
        if (tids[i] != pid && procfs_thread_lives(pid, tids[i]))
            return tids[i];
    return pid;
}

bool procfs_user(pid_t pid, uid_t *user)
{
    char path[64];
    struct stat there;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &there) != 0)
        return false;
    *user = there.st_uid;
    return true;
}

/* The processor is field 39 of the thread's stat. */
bool procfs_processor(pid_t pid, uint32_t tid, uint32_t *processor)
{
    char name[64], stat[STAT_ROOM];
    snprintf(name, sizeof(name), "task/%" PRIu32 "/stat", tid);
    read_small(pid, name, stat, sizeof(stat));
    const char *field = field_of(stat, 39);
    return field && sscanf(field, "%" SCNu32, processor) == 1;
}
