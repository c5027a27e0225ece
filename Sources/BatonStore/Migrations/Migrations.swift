internal import GRDB

/// All changes of the schema since the first version, in order. Migrations may only be appended: a published migration
/// is never edited, because a store that has run it does not run it again.
enum Migrations {
  /// Identifies the file as a Baton database ("Batn"), so that Baton does not create its tables in the database of
  /// another program.
  static let applicationID: Int32 = 0x4261_746E

  /// - Parameter incarnation: the name of a new store; `nil` draws a random name.
  static func migrator(incarnation: String?) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 initial schema") { try InitialSchema.create($0, incarnation: incarnation) }
    migrator.registerMigration("2 contract") { try ContractSchema.extend($0) }
    migrator.registerMigration("3 traces") { try TraceSchema.extend($0) }
    migrator.registerMigration("4 guarantees") { try GuaranteeSchema.extend($0) }
    migrator.registerMigration("5 skipped batches") { try SkippedBatchesSchema.extend($0) }
    migrator.registerMigration("6 recent use") { try UseSchema.extend($0) }
    migrator.registerMigration("7 workers") { try WorkerSchema.extend($0) }
    migrator.registerMigration("8 coordinators") { try CoordinatorSchema.extend($0) }
    migrator.registerMigration("9 index of scheduled requests") { try ScheduledIndexSchema.extend($0) }
    migrator.registerMigration("10 identities of hosts") { try IdentitySchema.extend($0) }
    migrator.registerMigration("11 operators") { try OperatorSchema.extend($0) }
    migrator.registerMigration("12 approvals") { try ApprovalSchema.extend($0) }
    migrator.registerMigration("13 fleet of several coordinators") { try FleetSchema.extend($0) }
    migrator.registerMigration("14 endings on the steady clock") { try EndingSchema.extend($0) }
    migrator.registerMigration("15 shards of requests") { try SpreadSchema.extend($0) }
    migrator.registerMigration("16 histories and forgetting") { try ReadingSchema.extend($0) }
    migrator.registerMigration("17 times of output") { try OutputTimeSchema.extend($0) }
    migrator.registerMigration("18 namespaces") { try NamespaceSchema.extend($0) }
    migrator.registerMigration("19 transfers") { try TransferSchema.extend($0) }
    migrator.registerMigration("20 what follows a failure") { try RetrySchema.extend($0) }
    migrator.registerMigration("21 flows") { try FlowSchema.extend($0) }
    migrator.registerMigration("22 paused schedules") { try SchedulePauseSchema.extend($0) }
    migrator.registerMigration("23 notifications") { try NotificationSchema.extend($0) }
    migrator.registerMigration("24 limits by key") { try KeySchema.extend($0) }
    migrator.registerMigration("25 results") { try ResultSchema.extend($0) }
    return migrator
  }

  /// Migrates the schema to this version. Throws `.newerVersion` if a newer version wrote the database, and `.corrupt`
  /// if it is the database of another program; in both cases nothing is changed.
  static func run(on writer: any DatabaseWriter, incarnation: String?) throws {
    let migrator = migrator(incarnation: incarnation)
    try writer.read { db in
      if let mark = try FileMark.read(db) { throw mark.refusal }
      if try migrator.hasBeenSuperseded(db) {
        throw StoreError(
          .newerVersion, "The database was written by a newer version of Baton; run that version, or a later one.")
      }
      try expectOurs(db)
    }
    try migrator.migrate(writer)
  }

  /// Throws `.corrupt` unless the database is empty or belongs to Baton.
  static func expectOurs(_ db: Database) throws {
    let found = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    guard found == applicationID || tables == 0 else {
      throw StoreError(
        .corrupt, "The file is the database of another program; give Baton a folder of its own (--data).")
    }
  }
}
