/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts.h - Slurm's host lists ("n[1-4,7]") by libslurm's own functions, behind types that are the
 * same in every release.
 */
#ifndef FABRIC_HOSTS_H
#define FABRIC_HOSTS_H

#include <stddef.h>

#include "err.h"

/*
 * Expands text to a malloc'ed array of *count malloc'ed names, in the order given. At most max
 * names (-E2BIG). Free with hosts_free().
 */
int hosts_expand(const char *text, size_t max, char ***names, size_t *count, struct err *err);
void hosts_free(char **names, size_t count);

/* Folds names, sorted and each once, to a malloc'ed host list; "" for none; NULL without memory. */
char *hosts_fold(const char *const *names, size_t count);

#endif
