/* SPDX-License-Identifier: MIT */
#include "record/host.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

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
