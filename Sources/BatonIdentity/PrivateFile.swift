import BatonBase
import SystemPackage

/// A file that only its user may read, with the key of an identity.
package enum PrivateFile {
  /// Reads the file. Returns `nil` if there is none. A symbolic link is not followed.
  /// - Throws: `IdentityError` if the file cannot be read, if it is not a regular file of at most 1 MiB, if another
  ///   user may read or write it, or if it belongs to another user than this one and root.
  package static func read(_ path: String, user: UInt32 = geteuid()) throws(IdentityError) -> [UInt8]? {
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
      defer { try? file.close() }
      let status = try file.stat()
      guard status.type == .regular, status.size <= longest else {
        throw IdentityError("\(path) is not a regular file of at most 1 MiB")
      }
      guard status.permissions.rawValue & 0o077 == 0 else {
        let octal = String(status.permissions.rawValue & 0o7777, radix: 8)
        throw IdentityError("\(path) has mode \(octal), so other users may read or change it: chmod 600 \(path)")
      }
      guard [user, 0].contains(status.userID.rawValue) else {
        throw IdentityError("\(path) belongs to user \(status.userID.rawValue)")
      }
      var bytes = [UInt8](repeating: 0, count: Int(status.size))
      var count = 0
      while count < bytes.count {
        let added = try bytes.withUnsafeMutableBytes { try file.read(into: .init(rebasing: $0[count...])) }
        if added == 0 { break }
        count += added
      }
      return Array(bytes[..<count])
    } catch let error as IdentityError {
      throw error
    } catch Errno.noSuchFileOrDirectory {
      return nil
    } catch {
      throw IdentityError("\(path) cannot be read: \(error)")
    }
  }

  /// Checks the folder that has such files.
  /// - Throws: `IdentityError` if another user may list or change what is in it.
  package static func checkFolder(_ path: String) throws(IdentityError) {
    let mode: FileMode.RawValue
    do {
      let folder = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .directory])
      defer { try? folder.close() }
      mode = try folder.stat().permissions.rawValue
    } catch {
      throw IdentityError("\(path) cannot be read: \(error)")
    }
    guard mode & 0o077 == 0 else {
      let octal = String(mode & 0o7777, radix: 8)
      throw IdentityError(
        "\(path) has mode \(octal), so other users may list or change what is in it: chmod 700 \(path)")
    }
  }

  /// Reads a file that others may read too, such as a certificate.
  /// - Throws: `IdentityError` if it cannot be read, or has more than 1 MiB.
  package static func readPublic(_ path: String) throws(IdentityError) -> [UInt8] {
    do {
      let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
      defer { try? file.close() }
      let size = try file.stat().size
      guard size <= longest else { throw IdentityError("\(path) has more than 1 MiB") }
      return try [UInt8](unsafeUninitializedCapacity: Int(size)) { bytes, count in
        count = try file.read(into: UnsafeMutableRawBufferPointer(bytes))
      }
    } catch let error as IdentityError {
      throw error
    } catch {
      throw IdentityError("\(path) cannot be read: \(error)")
    }
  }

  private static let longest: Int64 = 1 << 20

  /// Writes the file with mode 0600, so that it has all of `bytes` or its former content, also after a power loss.
  /// - Throws: `IdentityError` if it cannot be written or made durable.
  package static func write(_ bytes: [UInt8], to path: String) throws(IdentityError) {
    let part = path + ".part"
    do {
      unlink(part)
      let file = try FileDescriptor.open(
        part, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec, .noFollow],
        permissions: .ownerReadWrite)
      do {
        defer { try? file.close() }
        try file.writeAll(bytes)
        try sync(file)
      }
      guard rename(part, path) == 0 else { throw Errno(rawValue: errno) }
      let name = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
      let folder = try FileDescriptor.open(name.isEmpty ? "/" : name, .readOnly, options: [.closeOnExec, .directory])
      defer { try? folder.close() }
      try sync(folder)
    } catch {
      unlink(part)
      throw IdentityError("\(path) cannot be written: \(error)")
    }
  }

  private static func sync(_ file: FileDescriptor) throws {
    guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
  }
}
