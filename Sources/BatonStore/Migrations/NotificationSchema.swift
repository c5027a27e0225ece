internal import GRDB

/// The twenty-third schema, for notifications: those that wait for their receiver or have failed, how many a request
/// has had, and when a request that has not started is told of.
enum NotificationSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns + outbox) }

  private static let columns = """
    ALTER TABLE request ADD COLUMN notified INTEGER NOT NULL DEFAULT 0 CHECK (notified >= 0);
    ALTER TABLE request ADD COLUMN tell_at INTEGER;  -- on the steady clock; null if nothing is to be told
    CREATE INDEX request_tell_at ON request (tell_at) WHERE tell_at IS NOT NULL AND launches = 0 AND state <= 1;

    """

  /// `notification` has no foreign key: a notification outlives its request.
  private static let outbox = """
    CREATE TABLE notification (
      subject INTEGER NOT NULL,  -- the request, or minus the number of a host
      position INTEGER NOT NULL CHECK (position >= 1),  -- among those of the subject; of a host, its lease
      receiver TEXT NOT NULL,
      id TEXT NOT NULL,  -- the same in each attempt
      content TEXT NOT NULL,  -- JobNotification as JSON
      at INTEGER NOT NULL,
      since INTEGER NOT NULL,  -- the same time on the steady clock
      attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
      next_at INTEGER NOT NULL,  -- when to try again, on the steady clock
      error TEXT,  -- of the last attempt
      failed_at INTEGER,  -- on the steady clock; null while it waits
      PRIMARY KEY (subject, position, receiver),
      CHECK (failed_at IS NULL OR error IS NOT NULL)
    ) STRICT;
    CREATE INDEX notification_due ON notification (receiver, next_at) WHERE failed_at IS NULL;
    CREATE INDEX notification_since ON notification (since) WHERE failed_at IS NULL;
    CREATE INDEX notification_failed ON notification (failed_at) WHERE failed_at IS NOT NULL;
    """
}
