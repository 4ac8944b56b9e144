// The cluster's live view: what it shows, in which order, and what keys do.
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "report/render.h"
#include "tools/penstock/controller_views.h"

namespace penstock {

enum class Key {
  kUp,
  kDown,
  kOpen,
  kBack,
  kLeft,   // sorts by the column before
  kRight,  // and by the one behind
  kReverse,
  kNodes,
  kJobs,
  kQuit
};
// The keys in bytes from a terminal, in one read of it.
std::vector<Key> keys_of(std::string_view bytes);

class TopView {
 public:
  enum class Shows { kJobs, kNodes, kReport };

  explicit TopView(UserName user_name) : user_name_(std::move(user_name)) {}

  // Errors: kInvalidArgument  names the columns
  [[nodiscard]] Status sort_by(const std::string& column);
  void choose_node(const std::string& node) { node_ = node; }

  // What is to be set next.
  Shows shows() const { return shows_; }
  const std::string& node() const { return node_; }  // of jobs; "": all
  uint32_t job() const { return job_; }              // of the report

  // A controller's answer of kJobs or kNodes; sorts it.
  void set_rows(nlohmann::json document);
  void set_report(std::string text) { report_ = std::move(text); }
  // Shown until the next set_rows() or set_report(); "": none.
  void set_trouble(std::string text) { trouble_ = std::move(text); }

  // False: the user has had enough. shows() may have changed.
  bool press(Key key);

  // height: lines; 0: all rows, and no line on keys.
  std::string render(const TextStyle& style, int height) const;
  // As sorted.
  const nlohmann::json& document() const { return document_; }

 private:
  struct Order {
    size_t column = 0;
    bool is_reversed = false;
  };
  Order& order() { return orders_[shows_ == Shows::kNodes]; }
  const Order& order() const { return orders_[shows_ == Shows::kNodes]; }
  const char* rows_name() const;
  nlohmann::json id_of(const nlohmann::json& row) const;
  size_t selected() const;
  void sort();
  void move(int by);
  void open();
  void back();
  void show(Shows what);
  std::string render_rows(const TextStyle& style, int height) const;

  const UserName user_name_;
  Shows shows_ = Shows::kJobs;
  Shows before_ = Shows::kJobs;  // the report
  Order orders_[2];              // of jobs, and of nodes
  nlohmann::json document_;
  nlohmann::json selected_id_;  // of the row; null: the first
  std::string node_;
  uint32_t job_ = 0;
  std::string report_;
  size_t scrolled_ = 0;  // lines of the report
  std::string trouble_;
};

}  // namespace penstock
