/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_slurmconf.c - slurm.conf: names that are taken out of it are made of what names are made of.
 */
#include "fuzz.h"
#include "slurmconf.h"

static void run(const char *data, size_t len)
{
	struct slurmconf s;
	struct err err = { "" };
	int rc = slurmconf_load(fuzz_file(data, len), &s, &err);

	must(rc == 0 || err.text[0]);
	must(!s.cluster || (s.cluster[0] && !strpbrk(s.cluster, " \t\n\"=#ABCXYZ")));
	for (size_t i = 0; i < s.host_count; i++)
		must(s.hosts[i][0] && !strpbrk(s.hosts[i], " \t\n\"=#()/"));
	slurmconf_clear(&s);
}

const struct fuzz_target fuzz_slurmconf = { "slurmconf", "", run };
