/* SPDX-License-Identifier: MIT */
/*
 * loadall OBJECT: lets the kernel's verifier check every program of a BPF object, also those that a
 * recording leaves out, and prints their names. It makes the same settings before the load as the
 * recorder: the way in which a probe is attached decides which helpers its program may call.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#define ATTACH_UPROBE_SESSION 57 /* newer than Debian 12's headers */

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	int err;

	if (!object) {
		fprintf(stderr, "usage: loadall OBJECT\n");
		return 2;
	}
	bpf_object__for_each_program(program, object)
	{
		bpf_program__set_autoload(program, true);
		if (strstr(bpf_program__name(program), "session"))
			bpf_program__set_expected_attach_type(program, ATTACH_UPROBE_SESSION);
	}
	err = bpf_object__load(object);
	bpf_object__for_each_program(program, object) if (!err)
		printf("%s\n", bpf_program__name(program));
	bpf_object__close(object);
	return err ? 1 : 0;
}
