// `penstock dataset`: what the loader finds in data, and leaves out.
#include <nlohmann/json.hpp>
#include <ostream>

#include "loader/data/rule_options.h"
#include "penstock/loader/dataset.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/json_text.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

struct DatasetArguments {
  std::vector<std::string> data;
  SampleRules rules;
  bool json = false;
};

Json names_json(const LeftOutNames& names) {
  return {{"count", names.count}, {"first", names.first}};
}

Json facts_json(const Dataset& dataset, const DatasetFacts& facts) {
  Json left_out = Json::object();
  for (int why = 0; why < kOmissionCount; ++why) {
    left_out[omission_name(Omission(why))] = names_json(facts.left_out[why]);
  }
  return {{"data", dataset.path()},
          {"samples", facts.samples},
          {"labelled", facts.labelled},
          {"classes", facts.classes > 0 ? Json(facts.classes) : Json()},
          {"duplicates", facts.duplicates},
          {"empty_classes", names_json(facts.empty_classes)},
          {"left_out", left_out}};
}

Status run_dataset(const DatasetArguments& it, Terminal& terminal) {
  const auto dataset = open_dataset(it.data, std::nullopt, it.rules);
  if (!dataset) return dataset.error();
  const DatasetFacts facts = (*dataset)->facts();
  terminal.out << (it.json ? json_text(facts_json(**dataset, facts))
                           : (*dataset)->path() + ": " + facts.text() + "\n");
  return Done{};
}

}  // namespace

Run add_dataset(CLI::App* command) {
  auto it = std::make_shared<DatasetArguments>();
  command
      ->add_option("DATA", it->data,
                   "a folder of pictures, an LMDB database, or tar shards")
      ->required();
  command->add_flag("--json", it->json, "print JSON");
  add_rule_options(*command, it->rules);
  return [it](Invocation& invocation) -> Status {
    return run_dataset(*it, invocation.terminal);
  };
}

}  // namespace penstock
