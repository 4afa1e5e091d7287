/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.h - recorded files and folders of them, as one subnet.
 */
#ifndef TOPOLOGY_FILES_H
#define TOPOLOGY_FILES_H

#include "subnet.h"

/*
 * Reads paths; "-" is standard input, and of a folder all files are taken whose names don't begin
 * with a dot. names, or NULL, replace what nodes say of themselves. Files are read in the order of
 * their names, whatever the order given. *source (malloc'ed) names them, without their folders, so
 * that the same dump elsewhere gives the same text. NULL and err on failure.
 */
struct subnet *files_read(const char *const *paths, size_t count, const struct namemap *names,
			  char **source, struct err *err);

#endif
