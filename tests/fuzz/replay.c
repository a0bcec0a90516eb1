/* SPDX-License-Identifier: MIT */
/* replay_PROGRAM TARGET VARIANTS FILE-OR-FOLDER...: runs a fuzz target over files, and over the files of folders. Then
 * it runs the target over so many variants of each file, cut at a few places and with a few bytes changed: so the tests
 * find what is easy to find without a fuzzer. With PYREEL_SOAK=10, see tests/soak/run, there are ten times as many. */
#include "tests/fuzz/fuzz.h"

#include "formats/base/alloc.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fuzz_target *target;
static unsigned files, variants;

static void run_variants(const unsigned char *bytes, size_t size)
{
    uint64_t random = size;
    for (unsigned i = 0; i < variants && size > 0; i++) {
        unsigned char *changed = (unsigned char *)alloc_copy(bytes, size);
        for (unsigned k = 0; k < 1 + i % 4; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            changed[(random >> 20) % size] ^= (unsigned char)(1 + (random >> 56));
        }
        const size_t cut = i % 8 == 0 ? (random >> 40) % size : size;
        /* A copy of just that size: whoever reads beyond it is seen by the sanitizer. */
        unsigned char *exact = (unsigned char *)alloc_resize(NULL, cut ? cut : 1, 1);
        memcpy(exact, changed, cut);
        target->run(exact, cut);
        free(exact);
        free(changed);
    }
}

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned char *bytes = NULL;
    size_t size = 0, room = 0, got;
    if (!file) {
        perror(path);
        return false;
    }
    do {
        bytes = alloc_grow(bytes, &room, size + 65536, 1);
        got = fread(bytes + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    target->run(bytes, size);
    run_variants(bytes, size);
    free(bytes);
    files++;
    return true;
}

static bool run_path(const char *path)
{
    DIR *folder = opendir(path);
    bool good = true;
    if (!folder)
        return run_file(path);
    for (const struct dirent *entry; good && (entry = readdir(folder));) {
        char *inside = NULL;
        if (entry->d_name[0] == '.')
            continue;
        good = asprintf(&inside, "%s/%s", path, entry->d_name) >= 0 && run_path(inside);
        free(inside);
    }
    closedir(folder);
    return good;
}

static const struct fuzz_target *find_target(const char *name)
{
    for (const struct fuzz_target *each = __start_fuzz_targets; each < __stop_fuzz_targets; each++)
        if (strcmp(each->name, name) == 0)
            return each;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *factor = getenv("PYREEL_SOAK");
    target = argc > 3 ? find_target(argv[1]) : NULL;
    if (!target) {
        fprintf(stderr, "usage: %s TARGET VARIANTS FILE-OR-FOLDER...\n", argv[0]);
        return 1;
    }
    variants = (unsigned)atoi(argv[2]) * (factor && atoi(factor) > 0 ? (unsigned)atoi(factor) : 1);
    target->run((const uint8_t *)"", 0);
    for (int i = 3; i < argc; i++)
        if (!run_path(argv[i]))
            return 1;
    printf("%u files\n", files);
    return files > 0 ? 0 : 1;
}
