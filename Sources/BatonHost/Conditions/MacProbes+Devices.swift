package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension MacProbes {
  /// Reads the output of `scutil --nwi` ("Network information"), which does not tell what a network costs. The first
  /// interface that is `Reachable` carries the traffic.
  package static func network(fromInformation output: String) -> Reading<NetworkState> {
    let lines = output.split(whereSeparator: \.isNewline).map(\.trimmed)
    guard lines.contains(where: { $0.hasPrefix("Network information") }) else {
      return Reading(nil, source: "scutil", raw: lines.first.map(String.init) ?? "")
    }
    let reach = lines.firstIndex {
      $0.hasPrefix("reach") && $0.contains("(Reachable") && !$0.contains("Connection Required")
    }
    guard let reach else {
      return Reading(.unavailable, source: "scutil", raw: "not reachable")
    }
    let interface = lines[..<reach].last { $0.contains(": flags") }?.split(separator: " ").first ?? "an interface"
    return Reading(.unmetered, source: "scutil", raw: "reachable by \(interface)")
  }

  /// Reads the output of `system_profiler SPDisplaysDataType -json`. The memory of a GPU is 0 if it is shared with the
  /// host, as on Apple silicon.
  package static func gpus(fromProfile output: String) -> Reading<[GPU]> {
    guard let profile = try? JSONDecoder().decode(Profile.self, from: Data(output.utf8)) else {
      return Reading(nil, source: "system_profiler", raw: String(output.prefix(80)))
    }
    let gpus = profile.displays.enumerated().map { index, display in
      GPU(
        id: display.name ?? "gpu\(index)", name: display.model ?? display.name ?? "GPU",
        memoryBytes: display.memory.flatMap(bytes) ?? 0)
    }
    return Reading(gpus, source: "system_profiler", raw: gpus.map(\.name).joined(separator: "; "))
  }

  private struct Profile: Decodable {
    var displays: [Display]
    enum CodingKeys: String, CodingKey { case displays = "SPDisplaysDataType" }
  }

  private struct Display: Decodable {
    var name: String?
    var model: String?
    /// The GPU's own memory, such as `4 GB`. Memory that is shared with the host has another key.
    var memory: String?
    enum CodingKeys: String, CodingKey {
      case name = "_name"
      case model = "sppci_model"
      case memory = "spdisplays_vram"
    }
  }

  private static func bytes(_ text: String) -> Int64? {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let number = Int64(words[0]), (0...4096 << 10).contains(number) else { return nil }
    return words[1] == "GB" ? number << 30 : words[1] == "MB" ? number << 20 : nil
  }
}
