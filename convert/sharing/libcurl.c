/* SPDX-License-Identifier: MIT */
#include "convert/sharing/libcurl.h"

#include "formats/base/alloc.h"

#include <dlfcn.h>

/* The flavours of the library differ in who makes the encryption. */
static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

static struct libcurl loaded;

static const struct function {
    const char *name;
    void *at; /* where the address goes: a member of `loaded` */
} functions[] = {
    { "curl_global_init", &loaded.global_init },       { "curl_easy_init", &loaded.easy_init },
    { "curl_easy_setopt", &loaded.easy_set },          { "curl_easy_perform", &loaded.easy_perform },
    { "curl_easy_getinfo", &loaded.easy_get },         { "curl_easy_cleanup", &loaded.easy_cleanup },
    { "curl_easy_strerror", &loaded.easy_strerror },   { "curl_slist_append", &loaded.slist_append },
    { "curl_slist_free_all", &loaded.slist_free_all },
};

const struct libcurl *libcurl_load(struct fault *why)
{
    void *library = NULL;
    for (size_t i = 0; i < countof(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fault(why, "cannot load libcurl (%s); install libcurl4", dlerror());
        return NULL;
    }
    for (size_t i = 0; i < countof(functions); i++) {
        void *const address = dlsym(library, functions[i].name);
        if (!address) {
            fault(why, "libcurl has no function %s; install a newer libcurl", functions[i].name);
            return NULL;
        }
        *(void **)functions[i].at = address;
    }
    if (loaded.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return &loaded;
    fault(why, "libcurl cannot start");
    return NULL;
}
