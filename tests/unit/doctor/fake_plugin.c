/* The symbols that `penstock doctor` reads, for Slurm 24.11.5. */
const unsigned int plugin_version = 0x180b05;
const char plugin_type[] = "spank";
const unsigned long long not_a_number = 1;
