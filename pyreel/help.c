/* SPDX-License-Identifier: MIT */
#include "pyreel/help.h"

#include "formats/base/programs.h"
#include "pyreel/manual.h"
#include "pyreel/places.h"
#include "pyreel/program.h"
#include "pyreel/topics.h"
#include "pyreel/verbs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_WIDTH 12

static void print_others(void)
{
    struct other_verbs others;
    places_find_others(&others);
    if (others.count > 0)
        printf("Other programs pyreel-VERB that were found:\n");
    for (size_t i = 0; i < others.count; i++)
        printf("  %s\n", others.names[i]);
    if (others.count > 0)
        printf("\n");
}

void help_print(const struct arguments *arguments)
{
    printf("usage: pyreel VERB [ARG...]          run pyreel-VERB\n"
           "       pyreel help [VERB|TOPIC]      explain a verb or a topic\n\n"
           "Records where Python programs spend their time, and shows it. Each verb is a\n"
           "program with options of its own: pyreel record is pyreel-record.\n\n");
    for (size_t group = 0; group < VERB_GROUPS; group++) {
        printf("%s:\n", verb_groups[group]);
        for (const struct verb *verb = verbs; verb->name; verb++)
            if (verb->group == group)
                printf("  %-*s %s\n", NAME_WIDTH, verb->name, verb->does);
        printf("\n");
    }
    print_others();
    printf("Topics:\n");
    for (const struct topic *topic = topics; topic->name; topic++)
        printf("  %-*s %s\n", NAME_WIDTH, topic->name, topic->about);
    printf("\nOptions, in front of the verb:\n");
    arguments_print(arguments);
    printf("\nExit codes: those of the program; 2 misuse, 125 the program cannot be started.\n");
}

/* Words that people look up, and the topics that explain them. */
static const struct {
    const char *word, *topic;
} meant[] = {
    { "sample", "words" }, { "samples", "words" }, { "tick", "words" },    { "ticks", "words" },
    { "missed", "words" }, { "failed", "words" },  { "weight", "words" },  { "waited", "words" },
    { "idle", "words" },   { "gil", "words" },     { "lock", "words" },    { "self", "words" },
    { "total", "words" },  { "kept", "words" },    { "exact", "truth" },   { "unproved", "truth" },
    { "budget", "cost" },  { "overhead", "cost" }, { "disturb", "cost" },  { "asyncio", "words" },
    { "tasks", "words" },  { "threads", "trees" }, { "workers", "trees" },
};

/* The topic of a name; NULL: there is none. */
static const struct topic *find_topic(const char *name)
{
    const struct topic *topic = topics;
    for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
        if (strcasecmp(meant[i].word, name) == 0)
            name = meant[i].topic;
    while (topic->name && strcmp(topic->name, name) != 0)
        topic++;
    return topic->name ? topic : NULL;
}

/* Whether there is a program for the word. */
static bool is_verb(const char *word)
{
    char program[VERB_SIZE + sizeof(VERB_PREFIX)];
    if (!verb_is_possible(word))
        return false;
    verb_program(program, word);
    char *const path = programs_find(program);
    const bool found = path;
    free(path);
    return found;
}

static int explain_verb(const char *verb)
{
    static char help[] = "--help";
    char *arguments[] = { NULL, help, NULL };
    char page[VERB_SIZE + sizeof(VERB_PREFIX)];
    if (is_verb(verb)) {
        verb_program(page, verb);
        manual_show(page);
    }
    return program_become(verb, arguments, "no verb and no topic");
}

int help_about(const struct arguments *arguments, const char *word)
{
    if (strncmp(word, VERB_PREFIX, strlen(VERB_PREFIX)) == 0)
        word += strlen(VERB_PREFIX);
    const struct topic *const topic = find_topic(word);
    if (topic)
        printf("%s", topic->text);
    else if (strcmp(word, "pyreel") == 0)
        manual_show(word);
    else if (*word && strcmp(word, "help") != 0)
        return explain_verb(word);
    if (!topic)
        help_print(arguments);
    return 0;
}
