internal import BatonModel
internal import BatonProtobuf
internal import BatonWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why a request does or does not run, and what would start it.
public struct JobExplanation: Hashable, Sendable {
  /// The request.
  public let request: JobRequest
  /// The answer in one word.
  public let verdict: Verdict
  /// What keeps the request from its start: first what concerns the request and the whole fleet, then what concerns
  /// single hosts, those first that are nearest to taking the request.
  public let obstacles: [Obstacle]
  /// How many requests of its job and priority go before it; `nil` if it is not pending.
  public let position: Int?
  /// What an operator can do so that the request starts; empty if it is not pending.
  public let advice: String

  /// The answer in one word.
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The request runs.
    case running
    /// The request has ended.
    case ended
    /// The request waits for something that comes by itself, or that a person can change.
    case waiting
    /// No known host can ever run the request as the fleet is configured.
    case impossible
  }

  /// One reason why the request does not start, or does not start on one host.
  public struct Obstacle: Hashable, Sendable {
    /// The host; `nil` if the obstacle concerns the request or the whole fleet.
    public let host: String?
    /// The stable name of the obstacle, such as `needsExternalPower`. `Documentation/reference/reasons.md` lists them.
    public let code: String
    /// The obstacle in words.
    public let text: String
    /// The change that would remove it.
    public let remedy: String
    /// Whether it stays until a person changes the fleet or the definition.
    public let isPermanent: Bool
    /// When it ends by itself; `nil` if that is not known.
    public let clearsAt: Date?
  }

  /// The explanation for people, in lines.
  public var text: String {
    var lines = ["\(request.name): \(sentence)"]
    for (host, obstacles) in grouped {
      lines.append(host.map { "on \($0.onOneLine)" } ?? "the request and the fleet")
      for obstacle in obstacles { lines += obstacle.lines.map { "  \($0)" } }
    }
    if !advice.isEmpty { lines.append(advice.onOneLine) }
    return lines.joined(separator: "\n")
  }

  private var sentence: String {
    switch verdict {
    case .running: "runs" + (request.host.map { " on \($0.onOneLine)" } ?? "") + ", launch \(request.launches)"
    case .ended: "has ended: \(request.state.rawValue)" + (request.reason.map { " (\($0.onOneLine))" } ?? "")
    case .waiting: "waits (\(request.state.rawValue))"
    case .impossible: "waits, and no known host can ever take it as the fleet is configured"
    }
  }

  /// The obstacles by host, in their order.
  private var grouped: [(host: String?, obstacles: [Obstacle])] {
    var groups: [(host: String?, obstacles: [Obstacle])] = []
    var places: [String?: Int] = [:]
    for obstacle in obstacles {
      if let place = places[obstacle.host] {
        groups[place].obstacles.append(obstacle)
      } else {
        places[obstacle.host] = groups.count
        groups.append((obstacle.host, [obstacle]))
      }
    }
    return groups
  }
}

extension JobExplanation.Obstacle {
  fileprivate var lines: [String] {
    ["\(code.onOneLine): \(text.onOneLine)", "  remedy: \(remedy.onOneLine)"]
  }

  fileprivate init(_ proto: Baton_V1_Obstacle, of identifier: String) {
    let host = proto.hasHost ? proto.host : nil
    // The placeholders of a remedy are replaced by names.
    var remedy = proto.remedy.replacing("IDENTIFIER", with: identifier)
    if let host { remedy = remedy.replacing("HOST", with: host) }
    self.init(
      host: host, code: proto.code, text: proto.text, remedy: remedy, isPermanent: proto.isPermanent,
      clearsAt: proto.hasClearsAt ? Date(eligible: proto.clearsAt) : nil)
  }
}

extension JobExplanation {
  /// - Parameter pages: the pages of the coordinator's answer, in their order.
  init(_ pages: [Baton_V1_ExplainReply]) throws {
    guard let head = pages.first else { throw WireError("an explanation without a page") }
    guard let verdict = Verdict(rawValue: head.verdict) else { throw WireError("unknown verdict '\(head.verdict)'") }
    let identifier = head.request.identifier
    self.init(
      request: try JobRequest(head.request), verdict: verdict,
      obstacles: pages.flatMap(\.obstacles).map { Obstacle($0, of: identifier) },
      position: head.hasPosition ? Int(head.position) : nil,
      advice: head.advice.replacing("IDENTIFIER", with: identifier))
  }
}
