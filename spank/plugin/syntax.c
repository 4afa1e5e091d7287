/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syntax.c - what the options and the plugstack arguments of fabric.so may say.
 *
 * Pure text work without a call into Slurm, so that unit tests can link it. Values are forgeable by
 * the user on their way to slurmstepd, so the same checks run at both ends: where a person types
 * the option, to refuse it with a reason, and in slurmstepd, to leave it out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "classes.h"
#include "env.h"
#include "plugin.h"
#include "text.h"

static int sample_check(const char *value, struct err *err)
{
	char shown[64];
	int64_t ns;

	if (strlen(value) < PACKET_WORD &&
	    (!strcmp(value, "off") || (interval_parse(value, &ns) && ns > 0)))
		return 0;
	return err_set(
		err, EINVAL,
		"--fabric-sample=%s: accepted are an interval such as 500ms, 1s or 2m, and off",
		text_printable(value, shown, sizeof(shown)));
}

static int env_check(const char *value, struct err *err)
{
	char shown[64];

	if (strlen(value) < PACKET_WORD &&
	    (!strcmp(value, "default") || env_wanted_parse(value) >= 0))
		return 0;
	return err_set(err, EINVAL,
		       "--fabric-env=%s: accepted are default, none, and one or more of ucx, nccl, "
		       "nvshmem with commas between them",
		       text_printable(value, shown, sizeof(shown)));
}

int plugin_option_check(enum plugin_option option, const char *value, struct err *err)
{
	struct class_wish wish;

	switch (option) {
	case OPTION_CLASS:
		return class_parse(value, &wish, err);
	case OPTION_SAMPLE:
		return sample_check(value, err);
	case OPTION_ENV:
		return env_check(value, err);
	case OPTION_COUNT:
		break;
	}
	return err_set(err, EINVAL, "unknown option");
}

/* Copies dir with each %n replaced by node; false when it does not fit. */
static bool run_expand(char out[PLUGIN_PATH], const char *dir, const char *node)
{
	size_t used = 0;

	while (*dir) {
		const char *piece = dir;
		size_t len = 1;

		if (dir[0] == '%' && dir[1] == 'n') {
			piece = node;
			len = strlen(node);
			dir++;
		}
		if (len >= PLUGIN_PATH - used)
			return false;
		memcpy(out + used, piece, len);
		used += len;
		dir++;
	}
	out[used] = '\0';
	return true;
}

static int config_argument(struct plugin_config *config, const char *arg, const char *node,
			   struct err *err)
{
	char shown[96], run[PLUGIN_PATH];

	if (!strncmp(arg, "run=/", 5)) {
		/* Where there is no node name (srun, sbatch) nothing of the folder is used. */
		if (run_expand(run, arg + 4, node ? node : ""))
			strcpy(config->run, run);
		else
			return err_set(err, ENAMETOOLONG, "plugstack argument run= is too long");
		return 0;
	}
	if (!strncmp(arg, "env=", 4) && strlen(arg + 4) < PACKET_WORD &&
	    env_wanted_parse(arg + 4) >= 0) {
		strcpy(config->env, arg + 4);
		return 0;
	}
	return err_set(
		err, EINVAL,
		"plugstack argument \"%s\" is ignored: there are run=/DIR and env=none or a list "
		"of ucx, nccl, nvshmem",
		text_printable(arg, shown, sizeof(shown)));
}

int plugin_config_parse(struct plugin_config *config, int argc, char **argv, const char *node,
			struct err *err)
{
	int rc = 0;

	strcpy(config->run, PLUGIN_RUN_DEFAULT);
	strcpy(config->env, "none");
	for (int i = 0; i < argc; i++) {
		int bad = config_argument(config, argv[i], node, rc ? NULL : err);

		if (rc == 0)
			rc = bad;
	}
	return rc;
}

/* The decimal number at *text, at most five digits; moves behind it. */
static bool short_number(const char **text, uint32_t *value)
{
	size_t count = strspn(*text, "0123456789");

	if (count == 0 || count > 5)
		return false;
	for (*value = 0; count--; (*text)++)
		*value = *value * 10 + (uint32_t)(**text - '0');
	return true;
}

uint32_t plugin_list_count(const char *list)
{
	uint32_t count = 0, first, last;

	for (;; list++) {
		if (!short_number(&list, &first))
			return PACKET_UNKNOWN;
		last = first;
		if (*list == '-') {
			list++;
			if (!short_number(&list, &last) || last < first)
				return PACKET_UNKNOWN;
		}
		count += last - first + 1;
		if (!*list)
			return count;
		if (*list != ',')
			return PACKET_UNKNOWN;
	}
}

bool plugin_gpus_valid(const char *text)
{
	return !strchr(text, '-') && plugin_list_count(text) != PACKET_UNKNOWN;
}
