/* SPDX-License-Identifier: MIT */
/* The bytes of several recordings → the main of pyreel-gecko → a profile, which has to be JSON. The first two bytes
 * say which options are given, a bit for each row of `asked`. Then come the recordings (inputs.h). */
int gecko_main(int argc, char **argv);

#define main gecko_main
#include "convert/gecko/to_gecko.c"
#undef main

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"

#include <getopt.h>
#include <jansson.h>

static const char *const asked[] = {
    "--markers=all", "--opcodes",        "--opcodes=frames", "--compact",  "--weight=cpu", "--weight=wall",
    "--sanitize",    "--max-samples=50", "--tasks=tracks",   "--mode=cpu", "--from=0.003", "--threads=MainThread,7",
    "--full-paths",  "--markers=none",   "--min-gil-wait=0",
};

/* Runs the program, whose messages are kept from the terminal, and whose output is the file `fd`. */
static int run(int argc, char **argv)
{
    FILE *const terminal = stderr;
    char *messages = NULL;
    size_t size = 0;
    stderr = open_memstream(&messages, &size);
    require(stderr != NULL);
    optind = 0;
    const int code = gecko_main(argc, argv);
    fclose(stderr);
    stderr = terminal;
    require(code == EXIT_SUCCESS || size > 0);
    free(messages);
    return code;
}

static void check_profile(int fd)
{
    require(lseek(fd, 0, SEEK_SET) == 0);
    json_t *profile = json_loadfd(fd, 0, NULL);
    require(profile != NULL);
    json_decref(profile);
}

static void convert(int argc, char **argv)
{
    const int fd = memfd_create("profile", MFD_CLOEXEC), standard = dup(STDOUT_FILENO);
    require(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    const int code = run(argc, argv);
    require(dup2(standard, STDOUT_FILENO) >= 0);
    close(standard);
    if (code == EXIT_SUCCESS)
        check_profile(fd);
    close(fd);
}

FUZZ_TARGET(gecko)
{
    char *argv[4 + countof(asked) + INPUTS_MOST + 1] = { (char *)"pyreel-gecko", (char *)"-q", (char *)"-o",
                                                         (char *)"-" };
    int argc = 4, fds[INPUTS_MOST];
    const size_t count = size > 2 ? put_inputs(bytes + 2, size - 2, fds) : 0;
    for (size_t i = 0; i < countof(asked) && count > 0; i++)
        if (bytes[i / 8] >> i % 8 & 1)
            argv[argc++] = (char *)asked[i];
    with_inputs(convert, argc, argv, fds, count);
    return 0;
}
