import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonWire
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Credential {
  var proto: Baton_V1_Credential {
    .with {
      ($0.id, $0.name) = (Data(id), name)
      ($0.scopes, $0.patterns) = (scopes.sorted().map(\.rawValue), patterns.map(\.rawValue))
      ($0.end, $0.createdAt, $0.createdBy) = (end.nanoseconds, createdAt.nanoseconds, createdBy)
      if let lastUsedAt { $0.lastUsedAt = lastUsedAt.nanoseconds }
      $0.isRevoked = isRevoked
    }
  }

  /// The digest does not travel, so it is empty.
  init(_ proto: Baton_V1_Credential) throws {
    self.init(
      id: Array(proto.id), name: proto.name, digest: [], scopes: Set(proto.scopes.compactMap(Scope.init)),
      patterns: try proto.patterns.map { try IdentifierPattern(wire: $0) }, end: Timestamp(nanoseconds: proto.end),
      createdAt: Timestamp(nanoseconds: proto.createdAt), createdBy: proto.createdBy,
      lastUsedAt: proto.hasLastUsedAt ? Timestamp(nanoseconds: proto.lastUsedAt) : nil, isRevoked: proto.isRevoked)
  }
}

extension CredentialOrder {
  var proto: Baton_V1_CreateCredentialRequest {
    .with {
      ($0.name, $0.lifetime) = (name, lifetime.nanoseconds)
      ($0.scopes, $0.patterns) = (scopes.sorted().map(\.rawValue), patterns.map(\.rawValue))
    }
  }

  init(_ proto: Baton_V1_CreateCredentialRequest) throws {
    guard let scopes = Set<Scope>(names: proto.scopes) else {
      throw OperatorError.invalid(
        "the scopes are \(Scope.allCases.map(\.rawValue).joined(separator: ", ")), not "
          + proto.scopes.joined(separator: ",").escapedOnOneLine)
    }
    self.init(
      name: proto.name, scopes: scopes, patterns: try proto.patterns.map { try IdentifierPattern(wire: $0) },
      lifetime: .nanoseconds(proto.lifetime))
  }
}

extension Caller {
  var proto: Baton_V1_WhoAmIReply {
    .with {
      $0.name = name
      guard let credential else {
        $0.scopes = Scope.allCases.map(\.rawValue)
        return
      }
      $0.scopes = credential.scopes.sorted().map(\.rawValue)
      $0.patterns = credential.patterns.map(\.rawValue)
      ($0.end, $0.credential) = (credential.end.nanoseconds, Data(credential.id))
    }
  }

  init(_ proto: Baton_V1_WhoAmIReply) throws {
    guard proto.hasCredential else {
      self.init(name: proto.name)
      return
    }
    self.init(
      name: proto.name,
      credential: Credential(
        id: Array(proto.credential), name: proto.name, digest: [],
        scopes: Set(proto.scopes.compactMap(Scope.init)),
        patterns: try proto.patterns.map { try IdentifierPattern(wire: $0) }, end: Timestamp(nanoseconds: proto.end),
        createdAt: Timestamp(nanoseconds: 0), createdBy: ""))
  }
}

extension AuditRow {
  var proto: Baton_V1_AuditRow {
    .with {
      ($0.sequence, $0.at, $0.actor) = (sequence, entry.at.nanoseconds, entry.actor)
      if let credential = entry.credential { $0.credential = Data(credential) }
      ($0.peer, $0.method, $0.object) = (entry.peer, entry.method, entry.object)
      ($0.outcome, $0.detail) = (entry.outcome.rawValue, entry.detail)
      ($0.previous, $0.hash) = (Data(previous), Data(hash))
    }
  }

  init(_ proto: Baton_V1_AuditRow) {
    self.init(
      sequence: proto.sequence,
      entry: AuditEntry(
        at: Timestamp(nanoseconds: proto.at), actor: proto.actor,
        credential: proto.hasCredential ? Array(proto.credential) : nil, peer: proto.peer, method: proto.method,
        object: proto.object, outcome: AuditEntry.Outcome(rawValue: proto.outcome) ?? .failed, detail: proto.detail),
      previous: Array(proto.previous), hash: Array(proto.hash))
  }
}

extension AuditFilter {
  /// The request for the rows after a number.
  func proto(after sequence: Int64, limit: Int) -> Baton_V1_AuditRequest {
    .with {
      if let actor { $0.actor = actor }
      if let object { $0.object = object }
      if let since { $0.since = since.nanoseconds }
      if let method { $0.method = method }
      $0.newestFirst = isNewestFirst
      ($0.after, $0.limit) = (sequence, Int32(clamping: limit))
    }
  }

  init(_ proto: Baton_V1_AuditRequest) {
    self.init(
      actor: proto.hasActor ? proto.actor : nil, object: proto.hasObject ? proto.object : nil,
      since: proto.hasSince ? Timestamp(nanoseconds: proto.since) : nil,
      method: proto.hasMethod ? proto.method : nil, isNewestFirst: proto.newestFirst)
  }
}

extension AuditVerdict {
  var proto: Baton_V1_VerifyAuditReply {
    .with {
      ($0.rows, $0.last, $0.head) = (rows, last, Data(head))
      if let problem { $0.problem = problem }
    }
  }

  init(_ proto: Baton_V1_VerifyAuditReply) {
    self.init(
      rows: proto.rows, last: proto.last, head: Array(proto.head), problem: proto.hasProblem ? proto.problem : nil)
  }
}
