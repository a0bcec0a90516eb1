/* SPDX-License-Identifier: MIT */
#include "record/host.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROCESSORS_MOST 4096

/* The name of the processor, from /proc/cpuinfo on x86. Empty on other architectures. */
static struct text processor_name(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    struct text name = { 0 };
    while (file && name.size == 0 && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        name = utf8_clean(text_of(colon + 1 + strspn(colon + 1, " ")));
    }
    if (file)
        fclose(file);
    return name;
}

/* The first number in a small file; -1: there is none. */
static long host_file_number(const char *path)
{
    FILE *file = fopen(path, "re");
    long number = -1;
    if (file && fscanf(file, "%ld", &number) != 1)
        number = -1;
    if (file)
        fclose(file);
    return number;
}

/* Counts the processors that are the first of their core. Processors that are switched off have no core. 0: the kernel
 * does not say. */
static uint32_t count_cores(uint32_t processors)
{
    const long configured = sysconf(_SC_NPROCESSORS_CONF);
    uint32_t cores = 0;
    if (host_file_number("/sys/devices/system/cpu/smt/active") == 0)
        return processors; /* no core has two */
    for (long i = 0; i < configured && i < PROCESSORS_MOST; i++) {
        char path[96];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list", i);
        cores += host_file_number(path) == i;
    }
    return cores;
}

void host_describe(struct recording *recording)
{
    struct utsname system;
    struct sysinfo memory;
    uname(&system);
    recording->host = utf8_clean(text_of(system.nodename));
    recording->kernel = utf8_clean(text_of(system.release));
    recording->machine = utf8_clean(text_of(system.machine));
    recording->processor = processor_name();
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    recording->processors = processors > 0 ? (uint32_t)processors : 0;
    recording->cores = count_cores(recording->processors);
    if (sysinfo(&memory) == 0)
        recording->memory_bytes = (uint64_t)memory.totalram * memory.mem_unit;
}

void host_forget(struct recording *recording)
{
    struct text *const texts[] = { &recording->host, &recording->kernel, &recording->machine, &recording->processor };
    for (size_t i = 0; i < countof(texts); i++) {
        text_free(*texts[i]);
        *texts[i] = (struct text){ 0 };
    }
}
