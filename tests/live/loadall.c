/* SPDX-License-Identifier: MIT */
/*
 * loadall OBJECT: has the kernel check every program of a BPF object, each alone, also those that a
 * recording leaves out, and prints the names of the accepted ones; libbpf prints the verifier's log
 * of the others. Status 1 if the kernel refuses one. probe_session is left out: the recorder
 * changes its calls before the load (bpf_select.c), so only recordings of probes load it.
 */
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool load_alone(const char *path, const char *name)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	bool loaded;

	if (!object)
		return false;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	loaded = !bpf_object__load(object);
	bpf_object__close(object);
	return loaded;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	bool refused = false;

	if (!object) {
		fprintf(stderr, "usage: loadall OBJECT\n");
		return 2;
	}
	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);

		if (!strcmp(name, "probe_session"))
			continue;
		if (load_alone(argv[1], name))
			printf("%s\n", name);
		else
			refused = true;
	}
	bpf_object__close(object);
	return refused;
}
