// What a described field allows. A type T describes its fields once, for
// FieldReader and FieldWriter:
//
//   template <class Visitor, ConstOrNot<T> Struct>
//   void visit_fields(Visitor& visit, Struct& it) {
//     visit("cores", it.cores, {0, kMaxCores});
//     visit("batch", it.batch, {.optional = true});
//     visit.require(it.batch <= it.samples, "batch", "at most samples");
//   }
//
// A field is a bool, a number, a text, an enum that is written by name, a type
// with visit_fields(), a std::vector of such, or a std::optional of such.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace penstock {

template <class T, class Struct>
concept ConstOrNot = std::same_as<std::remove_const_t<T>, Struct>;

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

// optional: a reader accepts that the field is missing, and leaves it as it is.
// omit_default: a writer leaves a field out that is T(); for optional fields.
template <class T>
struct FieldRule {
  bool optional = false;
  bool omit_default = false;
  const char* name = nullptr;  // in errors instead of the key
};

template <Number T>
struct FieldRule<T> {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
  bool optional = false;
  bool omit_default = false;
};

template <>
struct FieldRule<std::string> {
  size_t most = SIZE_MAX;  // bytes
  bool optional = false;
  bool omit_default = false;
};

template <class T>
requires std::is_enum_v<T>
struct FieldRule<T> {
  size_t count = 0;  // of names
  const char* (*name_of)(T) = nullptr;
  bool optional = false;
  bool omit_default = false;
};

template <class T>
struct FieldRule<std::vector<T>> {
  size_t most = SIZE_MAX;  // entries
  bool optional = false;
  bool omit_default = false;
  const char* name = nullptr;  // of an entry in errors instead of the key
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
struct RuleType {
  using Type = FieldRule<T>;
};
template <class T>
struct RuleType<std::optional<T>> {
  using Type = FieldRule<T>;
};
// The rule of a field of type T; an optional's is that of its value.
template <class T>
using RuleOf = typename RuleType<T>::Type;

}  // namespace penstock
