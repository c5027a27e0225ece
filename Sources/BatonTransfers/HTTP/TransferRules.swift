internal import BatonBase
internal import BatonHost
package import BatonModel
internal import BatonProcess

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What the host's owner permits to transfers.
struct TransferRules: Sendable {
  let settings: TransferSettings
  var environment: [String: String]

  /// Why the transfer may not use the server; `nil` if it may.
  func problem(with address: WebAddress) -> TransferFailure? {
    guard let servers = settings.servers else { return nil }
    let isPermitted = servers.contains { name in
      name.hasPrefix("*.") ? address.host.hasSuffix(name.dropFirst()) : name.lowercased() == address.host
    }
    return isPermitted
      ? nil
      : TransferFailure(
        .notPermitted, "The owner of this host does not permit transfers to use the server \(address.host).")
  }

  /// The path of a file outside of the transfers' own folder, with the links followed that lead to its folder.
  /// - Throws: why the transfer may not use it.
  func resolved(_ path: String) throws(TransferFailure) -> String {
    let folder = FileIdentity.folder(of: path)
    guard let real = realpath(folder, nil) else {
      throw TransferFailure(.file, "There is no folder \(folder) on this host: make it, or correct the path.")
    }
    defer { free(real) }
    let name = path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]
    let found = String(cString: real)
    let resolved = (found == "/" ? "" : found) + "/" + name
    if settings.folders.contains(where: { $0.matches(resolved) }) { return resolved }
    throw TransferFailure(
      .notPermitted, "The owner of this host does not permit transfers to use the file \(resolved).")
  }

  /// The value of a header field, with its secret. The value appears in no message.
  func value(
    of header: TransferHeader, named name: String, for pattern: IdentifierPattern
  ) throws(TransferFailure)
    -> String
  {
    let secret = try secret(of: header, named: name, for: pattern)
    guard TransferHeader.isText(header.text + secret) else {
      throw TransferFailure(.notPermitted, "The secret of the header \(name) has characters that no header can have.")
    }
    return header.text + secret
  }

  private func secret(
    of header: TransferHeader, named name: String, for pattern: IdentifierPattern
  )
    throws(TransferFailure) -> String
  {
    if let file = header.secret {
      guard settings.secretPermissions.contains(where: { $0.permits(file, to: pattern) }) else {
        throw TransferFailure(.notPermitted, "The owner of this host does not permit the secret \(file) to \(pattern).")
      }
      do {
        return String(decoding: try settings.secrets.read(file), as: UTF8.self)
      } catch {
        throw TransferFailure(.notPermitted, "The secret of the header \(name) cannot be read: \(error.message).")
      }
    }
    guard let variable = header.variable else { return "" }
    guard settings.variablePermissions.contains(where: { $0.permits(variable, to: pattern) }) else {
      throw TransferFailure(
        .notPermitted, "The owner of this host does not permit the variable \(variable) to \(pattern).")
    }
    guard let value = environment[variable] else {
      throw TransferFailure(.notPermitted, "The transfers of this host have no variable \(variable).")
    }
    return value
  }
}

extension TransferFailure: Error {}
