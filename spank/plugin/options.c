/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options.c - --fabric, --fabric-sample and --fabric-env.
 *
 * Slurm gives a value to the callback once for each way it came (inherited from the allocation, the
 * command line, the launch message), so that a callback must be fit to be called again: the last
 * value stays. In srun, sbatch and salloc a bad value is refused with a sentence; in slurmstepd it
 * is left out with one line in the log, because there nothing may fail.
 */
#include <string.h>

#include "plugin.h"

const char *const plugin_option_names[OPTION_COUNT] = {
	[OPTION_CLASS] = "fabric",
	[OPTION_SAMPLE] = "fabric-sample",
	[OPTION_ENV] = "fabric-env",
};

static struct plugin *plugin; /* the callback has no argument of ours */

static int refuse(enum plugin_option option, const char *value, struct err *err)
{
	if (plugin_option_check(option, value, err) < 0)
		return -1;
	return option == OPTION_CLASS ? plugin_local_class(value, err) : 0;
}

static int on_option(int val, const char *value, int remote)
{
	enum plugin_option option = (enum plugin_option)val;
	struct err err;

	if (!plugin || (unsigned int)val >= OPTION_COUNT || !value)
		return 0;
	if (!plugin->off && !remote && refuse(option, value, &err) < 0) {
		slurm_error("fabric: %s", err.text);
		return -1;
	}
	if (remote && plugin_option_check(option, value, &err) < 0) {
		slurm_info("fabric: left out: %s", err.text);
		return 0;
	}
	if (strlen(value) < PACKET_WORD)
		strcpy(plugin->option[option], value);
	return 0;
}

void plugin_options_register(spank_t spank, struct plugin *p)
{
	static char names[OPTION_COUNT][16];
	static struct spank_option options[OPTION_COUNT] = {
		[OPTION_CLASS] = {
			.arginfo = (char *)"CLASS[,modifiers]",
			.usage = (char *)"placement class: any, compact or one of the site's; modifiers "
					 "strict, healthy, rank, prefer=MINUTES; off: nothing of "
					 "slurm-fabric for this job",
		},
		[OPTION_SAMPLE] = {
			.arginfo = (char *)"INTERVAL|off",
			.usage = (char *)"how often fabric, storage and node counters are read during "
					 "steps, such as 500ms or 1s",
		},
		[OPTION_ENV] = {
			.arginfo = (char *)"LIST",
			.usage = (char *)"tell tasks their adapters: default, none, or some of "
					 "ucx,nccl,nvshmem",
		},
	};

	plugin = p;
	for (int i = 0; i < OPTION_COUNT; i++) {
		strncpy(names[i], plugin_option_names[i], sizeof(names[i]) - 1);
		options[i].name = names[i];
		options[i].has_arg = 1;
		options[i].val = i;
		options[i].cb = on_option;
		if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
			slurm_info("fabric: --%s can't be registered with Slurm", names[i]);
	}
}
